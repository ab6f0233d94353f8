"""Faults are reported before the first node, in a project without any run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kedro.framework.context import KedroContext
from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline, node
from mlflow.tracking import MlflowClient

from ease.errors import EaseError
from ease.hooks.names import Names, find_idle_parameters
from ease.hooks.runs import find_idle_versions
from ease.io.locks import check_unlocked, folder_lock
from ease.options import overlaid
from ease.pipelines.acquire_evaluation.nodes import locate
from ease.pipelines.checks import find_faults
from ease.pipelines.train.checks import lock_trainings
from ease.pipelines.work import lock_for_run, release_work
from tests.contexts import give, given_context
from tests.project import Project, make_project


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project without any run."""
    return make_project(tmp_path_factory.mktemp("preflight"))


@pytest.fixture
def empty(shared: Project) -> Iterator[Project]:
    """The empty project; the changes of a test to its configuration are undone."""
    yield shared
    for file in (shared.folder / "conf" / "local").iterdir():
        file.unlink()


@pytest.fixture(scope="module")
def context(shared: Project) -> Iterator[KedroContext]:
    """A context of the empty project, whose parameters the tests replace."""
    with given_context(shared) as context:
        yield context


def faults_of(context: KedroContext, chosen: str, namespace: str | None = None, **given: Any) -> list[str]:
    """Return the faults of a run, found in this process."""
    give(context, **given)
    try:
        Names().after_context_created(context)
        pipeline = pipelines[chosen]
        pipeline = pipeline.only_nodes_with_namespaces([namespace]) if namespace else pipeline
        typed = [name.replace("__", ".") for name in given]
        return find_faults(pipeline, context.catalog, context.project_path / "data", 0, typed)
    except EaseError as error:
        return str(error).splitlines()


def made_by(project: Project) -> list[Path]:
    """Return the outputs of nodes: versions, the sample, work folders."""
    data = project.folder / "data"
    return [path for pattern in ("**/????-??-??T*", "01_raw/*", "06_models/*") for path in data.glob(pattern)]


def local(project: Project, name: str, values: dict[str, Any]) -> None:
    (project.folder / "conf" / "local" / name).write_text(yaml.safe_dump(values), encoding="utf-8")


def assert_lines(lines: list[str], *expected: str) -> None:
    """Check that there is exactly one line for each fault."""
    assert len(lines) == len(expected), "\n".join(lines)
    for fault in expected:
        assert any(re.search(fault, line) for line in lines), (fault, lines)


def test_every_fault_is_listed_at_once_and_nothing_is_made(empty: Project, tmp_path: Path) -> None:
    recipe = {"data": [{"kind": "lines", "path": "words.txt"}]}
    local(empty, "parameters.yml", {"multilingual": {"simcse": recipe}})
    local(empty, "globals.yml", {"free_disk_gb": 10**9})
    blocked = empty.folder / "data" / "05_model_input"
    blocked.write_text("a file in a folder's place")
    (tmp_path / "words.vec").write_text("word 1 2\n")
    done = empty.run(
        "train_multilingual",
        check=False,
        multilingual__setting__encoder__name=tmp_path / "words.vec",
        multilingual__setting__dev_tasks="stsb:dev mldoc",
        multilingual__simcse__training__teacher__encoder="nowhere/teacher",
        entity_embeddings__source="file",
        entity_embeddings__file="vectors.txt",
    )
    blocked.unlink()
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert made_by(empty) == []
    client = MlflowClient(empty.store)
    assert client.search_runs([found.experiment_id for found in client.search_experiments()]) == []
    header, *lines = done.stderr.partition("Error: ")[2].splitlines()
    assert header == "8 faults, found before anything was run:"
    assert_lines(
        lines,
        r"Encoder '\S*words.vec' is not a transformer, and this training run needs one: give a transformer's folder",
        r"The teacher cannot be loaded \(`teacher.encoder`\). Encoder 'nowhere/teacher' does not load: ",
        "development task 'stsb' lacks .*sts-dev.csv in .*acquire_evaluation.fetch=true",
        r"development task 'mldoc' lacks (?!.*fetch=true)",
        "words.txt, which `data` of the method 'simcse' names, does not exist",
        "vectors.txt does not exist: set `entity_embeddings.file`",
        r"Cannot write to .*05_model_input \(Not a directory\): choose a folder that you may write to",
        r"disk of .*data has [\d.]+ GB free, and 1000000000\.0 GB are needed",
    )


def test_a_version_that_does_not_exist_is_named(project: Project) -> None:
    """Of a dataset that may be missing, too."""
    command = ("run", "--pipelines=report", "--load-versions=multilingual.ease.scores:2020")
    done = project.kedro(*command, check=False, start=False)
    assert "\nError: `multilingual.ease.scores` has no version 2020: see " in done.stderr
    assert len(done.stderr.splitlines()) == 2, "what is checked, and the error"


def test_spark_without_java_is_refused(context: KedroContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert_lines(faults_of(context, "acquire", engine="spark"), "needs a Java runtime, 17 .*there is none in")


def test_the_variants_of_a_sweep_are_checked(empty: Project, tmp_path: Path) -> None:
    words = [{"kind": "lines", "path": "conf/README.md"}]
    mirror = {"method": "mirror_bert", "data": words, "setting": {"encoder": "conf"}}
    variants = [
        {"method": "eaze"},
        {"method": "ease", "options": {"tau": 1}},
        {**mirror, "name": "field", "setting": {"encoder": {"poolng": "cls"}}},
        {**mirror, "name": "task", "setting": {"test_tasks": "stsx"}},
        {**mirror, "name": "pairs", "data": [{"kind": "pairs"}]},
        {**mirror, "name": "batches", "training": {"batches": {"languages": "single"}}},
        {**mirror, "name": "teacher", "training": {"teacher": {"encoder": "nowhere/teacher"}}},
        {"method": "ease", "setting": {"encoder": "conf"}},
        {"method": "start", "setting": {"encoder": str(tmp_path / "scored.vec")}},
        {**mirror, "name": "words", "setting": {"encoder": str(tmp_path / "trained.vec")}},
    ]
    for name in ("scored.vec", "trained.vec"):
        (tmp_path / name).write_text("word 1 2\n")
    sweep = {"setting": {"start": "untrained"}, "seeds": [1], "variants": variants}
    local(empty, "parameters.yml", {"sweeps": {"mirror_ablation": sweep}})
    with given_context(empty, sweep="mirror_ablation") as context:
        faults = faults_of(context, "sweep", sweep="mirror_ablation")
    assert_lines(
        faults,
        "Unknown training method 'eaze': did you mean ease",
        "'ease'.*`?tau`?",
        r"variant 'field' of 'mirror_ablation': .* no field `encoder.poolng`: did you mean pooling",
        "variant 'task' of 'mirror_ablation': .*Unknown evaluation task 'stsx'",
        "'mirror_bert' trains on texts, which name neither .*: set `training.batches.languages` to mixed",
        "The teacher cannot be loaded .*Encoder 'nowhere/teacher' does not load",
        "'mirror_ablation' reads the training pairs of 'monolingual', and there are none yet: make them by "
        "`kedro run --pipelines=train_monolingual --tags=acquire,",
        "'mirror_ablation' reads the training pairs, entity vocabulary, entity embeddings of 'monolingual'",
        "^(?!The teacher).*Encoder 'conf' does not load: .*no config.json",
        r"Encoder '\S*trained.vec' is not a transformer, and this training run needs one",
    )


MAKE = r"`kedro run --pipelines=train_multilingual --tags=acquire,.*`"
TRAIN = "`kedro run --pipelines=train --namespaces=multilingual.ease_plus`"
FETCH = "acquire_evaluation.fetch=true"


@pytest.mark.parametrize(
    ("pipeline", "given", "expected"),
    [
        (
            "sweep",
            {"sweep": "grid", "sweeps__grid__setting__test_tasks": "stsb:test"},
            [
                f"'grid' reads the sentences, training pairs of 'multilingual', and there are none yet: .*{MAKE}",
                f"There are no data of stsb:test, .*{FETCH}",
            ],
        ),
        (
            "train_multilingual",
            {"multilingual__setting__dev_tasks": "audit"},
            [
                "`audit`, whose pages are among the training pairs: set `multilingual.pairs.without_audit` to true",
                "development task 'audit' lacks .*kedro run --pipelines=audit",
            ],
        ),
        (
            "evaluate",
            {"evaluate__tasks": "tatoeba sample_graded own_queries"},
            [
                "No encoder is trained, and `evaluate.baselines` names none: train by",
                f"`evaluate.tasks` names tatoeba, which lacks .* in .*evaluation: .*{FETCH}",
                "`evaluate.tasks` names own_queries. No set is configured: add `tasks.own_queries.sets.NAME`",
            ],
        ),
        (
            "evaluate",
            {"evaluate__tasks": "stsb", FETCH.partition("=")[0]: "true", "evaluate__baselines__own__name": "conf"},
            [],
        ),
        (
            "evaluate",
            {"evaluate__tasks": "audit", "tasks__audit__path": "audit:teach", "evaluate__baselines__own__name": "conf"},
            ["`evaluate.tasks` names audit, .* of the setting teach `kedro run --pipelines=teach`"],
        ),
        (
            "train_monolingual",
            {"monolingual__setting__start": "mlm"},
            [r"`monolingual.setting.start` is mlm, .*--namespaces=monolingual.mlm,.* monolingual.setting.start=mlm`"],
        ),
        (
            "mine_bitext",
            {},
            [
                f"no encoder of `ease_plus` .*{MAKE}, then .*{TRAIN}, or name another .* as `mine_bitext.encoder`",
                f"No run has made `multilingual.dumps`, .*`multilingual.sitelinks` yet: first run {MAKE}",
            ],
        ),
    ],
)
def test_what_a_run_lacks_is_named_with_the_remedy(
    pipeline: str, given: dict[str, Any], expected: list[str], context: KedroContext
) -> None:
    assert_lines(faults_of(context, pipeline, **given), *expected)


def test_released_pairs_are_read_by_their_own_pipeline(context: KedroContext) -> None:
    given = {"multilingual__pairs__released": "nowhere.json"}
    read = faults_of(context, "released_pairs", "multilingual", **given)
    assert_lines(read, "nowhere.json is not a file: give a file of released pairs")
    read = faults_of(context, "released_pairs", "monolingual", **given)
    assert_lines(read, "`monolingual.pairs.released` is null: name a file")
    made = faults_of(context, "train_multilingual", **given)
    assert_lines(
        made, "`multilingual.pairs.released` names pairs, .*--pipelines=released_pairs --namespaces=multilingual`"
    )


def test_a_start_that_was_built_with_other_values_is_refused(project: Project) -> None:
    other = {"multilingual__setting__encoder__random__layers": 3, "multilingual__setting__languages": "en ja ar de"}
    with given_context(project) as context:
        (fault,) = faults_of(context, "train", "multilingual.ease", **other)
    start = "`multilingual.untrained.encoder` was built with 1"
    assert f"`multilingual.setting.encoder.random.layers` is 3, but {start}" in fault
    assert "first run `kedro run --pipelines=train_multilingual --tags=acquire," in fault


def test_missing_folders_of_dumps_are_named_together(context: KedroContext, tmp_path: Path) -> None:
    folders = {"acquire__wikipedia": str(tmp_path / "dumps"), "acquire__wikidata": str(tmp_path / "wikidata")}
    languages = {"multilingual__setting__languages": "en it"}
    faults = faults_of(context, "train_multilingual", "multilingual", **folders, **languages)
    assert [sum(fault.startswith(f"{folder} does not exist") for fault in faults) for folder in folders.values()] == [
        1,
        1,
    ]


def test_a_language_is_taught_beside_others_than_english_with_a_pivot_of_these(context: KedroContext) -> None:
    given = {"teach__language": "eo", "teach__companions": "de fr"}
    assert faults_of(context, "teach", **given) == [], "the first companion is the pivot"
    assert faults_of(context, "teach", audit__pivot="fr", **given) == []
    (fault,) = faults_of(context, "teach", audit__pivot="it", **given)
    assert "`audit.pivot` it, and the setting teach has eo, de, fr: set `audit.pivot` to one of these" in fault


def test_the_sets_that_teach_makes_may_be_named_as_its_test_tasks(context: KedroContext) -> None:
    named = ["sample_parallel", "country_names", "audit"]
    assert faults_of(context, "teach", teach__language="eo", teach__setting__test_tasks=named) == []
    (fault,) = faults_of(context, "teach", teach__language="eo", teach__setting__test_tasks=["stsb"])
    assert fault.startswith("`teach.setting.test_tasks` names stsb, which lacks ")


@pytest.mark.parametrize(
    ("chosen", "namespace", "name"),
    [
        ("train", "multilingual.ease", "multilingual.ease"),
        ("teach", None, "teach.ease_plus"),
        ("teach", None, "teach.mlm"),
    ],
)
def test_a_second_run_of_a_training_is_refused_before_the_first_node(
    context: KedroContext, chosen: str, namespace: str | None, name: str
) -> None:
    folder = context.project_path / "data" / "06_models" / "work" / name
    given = {"teach__language": "br"} if chosen == "teach" else {}
    with folder_lock(folder):
        (fault,) = (text for text in faults_of(context, chosen, namespace, **given) if "Another run is at work" in text)
        assert f"06_models/work/{name} (" in fault
    assert not any("Another run" in text for text in faults_of(context, chosen, namespace, **given))
    shutil.rmtree(folder)


def test_a_training_is_locked_from_the_beginning_of_its_run(context: KedroContext) -> None:
    give(context)
    Names().after_context_created(context)
    pipeline = pipelines["train"].only_nodes_with_namespaces(["multilingual.ease"])
    lock_trainings(pipeline, context.catalog)
    folder = context.project_path / "data" / "06_models" / "work" / "multilingual.ease"
    with pytest.raises(EaseError, match="Another run is at work in"):
        check_unlocked(folder)
    assert lock_for_run(folder).folder.name == folder.name, "which the training itself then has"
    release_work()
    assert not folder.exists(), "nothing was trained"


@pytest.mark.project
def test_a_missing_version_is_the_only_fault(empty: Project) -> None:
    version = "--load-versions=multilingual.ease.encoder:2020-01-01T00.00.00.000Z"
    done = empty.kedro(
        "run", "--pipelines=evaluate", "--namespaces=multilingual.ease", version, check=False, start=False
    )
    assert "has no version 2020-01-01T00.00.00.000Z" in done.stderr
    assert "No encoder is trained" not in done.stderr


def test_a_version_of_what_a_run_does_not_read_is_refused() -> None:
    versions = {"sentences": "2026", "pairs": "2025"}
    pipeline = Pipeline([node(len, "sentences", "pairs", name="pair")])
    (fault,) = find_idle_versions(versions, pipeline)
    assert fault.startswith("`--load-versions=pairs:2025` has no effect, since this run does not read `pairs`")


@pytest.mark.parametrize(
    ("chosen", "namespace", "given", "idle"),
    [
        ("evaluate", "multilingual.simcse", {"multilingual__simcse__training__max_steps": 6}, "(train_"),
        ("evaluate", "multilingual.simcse", {"acquire__wikipedia": "dumps", "evaluate__tasks": "stsb"}, "(acquire "),
        ("train", "multilingual.simcse", {"multilingual__ease__training__max_steps": 6}, "(train_"),
        ("report", None, {"evaluate__tasks": "stsb"}, ""),
        ("sweep", None, {"sweeps__grid__seeds": 3, "sweep": "seeds"}, ""),
        ("sweep", None, {"monolingual__ease__training__max_steps": 6, "sweep": "seeds"}, "(train_"),
        ("train", "multilingual.simcse", {"multilingual__simcse": {}, "engine": "spark"}, None),
        ("teach", None, {"teach__language": "br"}, None),
        ("sweep", None, {"sweep": "ablation", "multilingual__ease__training__max_steps": 6}, None),
    ],
)
def test_parameters_that_a_run_does_not_read_are_named(
    context: KedroContext, chosen: str, namespace: str | None, given: dict[str, Any], idle: str | None
) -> None:
    pipeline = pipelines[chosen]
    pipeline = pipeline.only_nodes_with_namespaces([namespace]) if namespace else pipeline
    typed: dict[str, Any] = {}
    for name, value in given.items():
        group = typed
        *parents, last = name.split("__")
        for parent in parents:
            group = group.setdefault(parent, {})
        group[last] = value
    names = find_idle_parameters(typed, pipeline, overlaid(context.config_loader["parameters"], typed))
    if idle is None:
        assert names == []
    else:
        first = next(iter(given)).replace("__", ".")
        assert [name.startswith(f"`{first}`") and idle in name for name in names] == [True]


FOLDER = {"acquire__wikipedia": "dumps", "acquire__wikidata": "dumps"}
MIRROR = {"acquire__wikipedia": "https://here.org"}


@pytest.mark.parametrize(
    ("chosen", "given", "idle"),
    [
        ("acquire", {**FOLDER, "acquire__layout": "content", "acquire__dump_date": "2024-01-01"}, "dump_date layout"),
        ("acquire", {**FOLDER, "acquire__wikidata_date": "2024-01-01"}, "wikidata_date"),
        ("acquire", {**FOLDER, "acquire__contact": "me@here.org", "acquire__connections": 1}, "connections contact"),
        ("acquire", {"acquire__titles": "titles.tsv", "acquire__wikidata": "dumps"}, "wikidata"),
        ("teach", {"teach__language": "br", "acquire__wikidata_titles": "json"}, "wikidata_titles"),
        ("mewsc16", {"acquire__layout": "content"}, "layout"),
        # A mirror is read, by this run or another with the same parameters.
        ("acquire", {**MIRROR, "acquire__contact": "me@here.org", "acquire__layout": "content"}, ""),
        ("train_multilingual", {"acquire_evaluation__fetch": "true", "acquire__contact": "me@here.org"}, ""),
        ("acquire", {**FOLDER, "mewsc16__wikinews": "https://here.org", "acquire__layout": "content"}, ""),
    ],
)
def test_a_parameter_of_what_is_not_read_is_refused(
    context: KedroContext, chosen: str, given: dict[str, Any], idle: str
) -> None:
    faults = [fault for fault in faults_of(context, chosen, **given) if "has no effect, since" in fault]
    assert sorted(fault.split("`")[1] for fault in faults) == [f"acquire.{name}" for name in idle.split()]


@pytest.mark.project
def test_a_run_that_reads_no_given_parameter_is_refused(empty: Project) -> None:
    done = empty.kedro("run", "--pipelines=report", "--params", "acquire.wikipedia=dumps", check=False, start=False)
    message = "Parameters without effect, since this run does not read them: `acquire.wikipedia` (acquire reads it)."
    assert message in done.stderr


def test_a_finished_run_is_finished_with_any_parameters(project: Project) -> None:
    command = ("run", "--pipelines=train", "--namespaces=multilingual.ease", "--only-missing-outputs")
    done = project.kedro(*command, "--params", "multilingual.ease.training.max_steps=9", start=False)
    idle = "Parameters of nodes whose outputs exist have no effect: `multilingual.ease.training.max_steps`"
    assert idle in done.stderr
    assert "Nothing was missing, so nothing was run." in done.stderr


def test_a_training_alone_is_checked_against_the_sets_that_were_located(tmp_path: Path) -> None:
    test, project = "stsb:test", make_project(tmp_path)
    local(project, "parameters.yml", {"multilingual": {"setting": {"dev_tasks": ["stsb:dev"], "test_tasks": [test]}}})
    with given_context(project) as context:
        catalog = context.catalog
        options = [catalog.load(f"params:{name}") for name in ("acquire", "acquire_evaluation", "tasks")]
        catalog.save("multilingual.evaluation_data", locate(["stsb:dev", test], *options))
        faults = faults_of(context, "train", "multilingual.simcse")
        assert any("development task 'stsb' lacks" in fault for fault in faults), faults
        faults = faults_of(context, "evaluate", "multilingual.simcse", evaluate__tasks=test)
        named = "`evaluate.tasks` names stsb:test, which lacks sts-test.csv in "
        assert_lines(faults, named, "No encoder is trained, and `evaluate.baselines` names none")
        moved = faults_of(context, "evaluate", "multilingual.simcse", tasks__stsb__path="../../etc/passwd")
        assert moved[-1].startswith("`tasks.stsb.path` is ../../etc/passwd, and its set was located at stsb. This run ")
        assert "first run the pipeline `acquire_evaluation` with the same --params" in moved[-1]
        typed = {"multilingual__setting__test_tasks": test}
        faults = faults_of(context, "acquire_evaluation", "multilingual", **typed)
    assert_lines(faults, "`multilingual.setting.test_tasks` names stsb:test, which lacks stsb/sts-test.csv in ")


def test_a_task_that_was_added_after_its_setting_was_located_is_named_with_the_command(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with given_context(project) as context:
        options = [context.catalog.load(f"params:{name}") for name in ("acquire", "acquire_evaluation", "tasks")]
        context.catalog.save("multilingual.evaluation_data", locate(["sickr"], *options))
        encoder = project.folder / "data/06_models/multilingual/simcse/encoder/2024-01-01T00.00.00.000Z/encoder"
        encoder.mkdir(parents=True)
        for given in ({"evaluate__tasks": "stsb"}, {"multilingual__setting__test_tasks": "sickr stsb"}):
            (fault,) = faults_of(context, "evaluate", "multilingual.simcse", **given)
            assert fault.startswith("The evaluation sets of stsb are not located yet: ")
            assert "--pipelines=train_multilingual --tags=acquire_evaluation,evaluate,report`" in fault
        context.catalog.save("baselines.evaluation_data", locate(["sickr"], *options))
        given = {"evaluate__tasks": "stsb", "evaluate__baselines__own__name": "conf"}
        pipeline = pipelines["evaluate"].only_nodes("baselines.score_baselines")
        give(context, **given)
        Names().after_context_created(context)
        (fault,) = find_faults(pipeline, context.catalog, tmp_path, 0)
        assert "of stsb are not located yet: locate and score them by `kedro run --pipelines=evaluate,report`" in fault


def test_a_wrong_option_of_a_method_is_refused_after_what_needs_no_torch(context: KedroContext) -> None:
    wrong = {"multilingual__ease__options__temperatur": 1}
    (fault,) = faults_of(context, "train_multilingual", **wrong)
    assert fault.startswith("Parameter `multilingual.ease`: Parameters of method 'ease': ")
    assert "did you mean temperature" in fault
    missing = {"entity_embeddings__source": "file", "entity_embeddings__file": "vectors.txt"}
    (fault,) = faults_of(context, "train_multilingual", **missing, **wrong)
    assert fault.startswith("vectors.txt does not exist")
