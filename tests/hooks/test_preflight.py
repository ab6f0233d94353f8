"""Faults are reported before the first node, by the real command line, in a project without any run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow.tracking import MlflowClient

from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.pipeline_registry import register_pipelines
from ease.pipelines.checks import find_faults
from tests.contexts import load_catalog
from tests.project import Project, make_project
from tests.wikimedia.made_dumps import made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project without any run; refused commands leave no files in it."""
    return make_project(tmp_path_factory.mktemp("preflight"))


@pytest.fixture
def empty(shared: Project) -> Iterator[Project]:
    """The empty project; the changes of a test to its configuration are undone."""
    yield shared
    for file in (shared.folder / "conf" / "local").iterdir():
        file.unlink()


def refused(project: Project, pipelines: str, **given: Any) -> list[str]:
    """Run a command that is refused before its first node, and return the lines of the message."""
    done = project.run(pipelines, check=False, **given)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert made_by(project) == []
    client = MlflowClient(project.store)
    assert client.search_runs([found.experiment_id for found in client.search_experiments()]) == []
    return done.stderr.partition("Error: ")[2].splitlines()


def made_by(project: Project) -> list[Path]:
    """Return the outputs of nodes: versions, the sample, work folders."""
    data = project.folder / "data"
    return [path for pattern in ("**/????-??-??T*", "01_raw/*", "06_models/*") for path in data.glob(pattern)]


def local(project: Project, name: str, values: dict[str, Any]) -> None:
    (project.folder / "conf" / "local" / name).write_text(yaml.safe_dump(values), encoding="utf-8")


def assert_lines(lines: list[str], *expected: str) -> None:
    """Check that there is exactly one line for each fault."""
    assert len(lines) == (1 if len(expected) == 1 else len(expected) + 1), "\n".join(lines)
    for fault in expected:
        assert any(re.search(fault, line) for line in lines), (fault, lines)


def test_every_fault_is_listed_at_once(empty: Project, tmp_path: Path) -> None:
    recipe = {"data": [{"kind": "lines", "path": "words.txt"}]}
    local(empty, "parameters.yml", {"multilingual": {"simcse": recipe}})
    local(empty, "globals.yml", {"free_disk_gb": 10**9})
    blocked = [empty.folder / "data" / "05_model_input", empty.folder / "blocked"]
    for file in blocked:
        file.write_text("a file in a folder's place")
    (tmp_path / "words.vec").write_text("word 1 2\n")
    lines = refused(
        empty,
        "train_multilingual",
        multilingual__setting__encoder__name=tmp_path / "words.vec",
        multilingual__setting__dev_tasks="stsb:dev mldoc",
        multilingual__simcse__training__teacher__encoder="nowhere/teacher",
        entity_embeddings__source="file",
        entity_embeddings__file="vectors.txt",
        work="blocked/work",
    )
    for file in blocked:
        file.unlink()
    assert_lines(
        lines,
        r"Encoder '\S*words.vec' is not a transformer, and this training needs one: give a transformer's folder",
        r"The teacher cannot be loaded \(`teacher.encoder`\). Encoder 'nowhere/teacher' does not load: ",
        "development task 'stsb' lacks .*sts-dev.csv in .*acquire_evaluation.fetch=true",
        r"development task 'mldoc' lacks (?!.*fetch=true)",
        "words.txt, which `data` of the method 'simcse' names, does not exist",
        "vectors.txt does not exist: set `entity_embeddings.file`",
        r"Cannot write to .*05_model_input \(Not a directory\): choose a folder that you may write to",
        r"Cannot write to .*blocked \(Not a directory\)",
        r"disk of .*data has [\d.]+ GB free, and 1000000000\.0 GB are needed",
    )


def test_missing_inputs_are_named_with_the_pipeline_that_makes_them(empty: Project) -> None:
    assert_lines(
        refused(empty, "hard_negatives"),
        r"No run has made `multilingual.dumps`, .*, `multilingual.pairs`, .* yet: first run "
        r"`kedro run --pipelines=acquire,ingest,entity_pairs`",
    )


def test_a_version_that_does_not_exist_is_named(project: Project) -> None:
    command = ("run", "--pipelines=hard_negatives", "--load-versions=multilingual.pairs:2020")
    done = project.kedro(*command, check=False, start=False)
    assert "Error: `multilingual.pairs` has no version 2020: see " in done.stderr


def test_a_sweep_is_checked_before_its_data_are_made(empty: Project) -> None:
    variants: list[dict[str, Any]] = [{"method": "eaze"}, {"method": "ease", "options": {"tau": 1}}]
    variants.append({"method": "simcse", "training": {"teacher": {"encoder": "conf"}}})
    local(empty, "parameters.yml", {"grid": {"variants": [{"seeds": [1], **one} for one in variants]}})
    assert_lines(
        refused(
            empty,
            "grid",
            grid__setting__test_tasks="stsb:test",
            multilingual__setting__encoder__name="conf",
            multilingual__setting__dev_tasks="sickr:trial",
        ),
        "Unknown training method 'eaze': did you mean ease",
        "'ease'.*`?tau`?",
        "^(?!The teacher).*Encoder 'conf' does not load: .*no config.json",
        "The teacher cannot be loaded .*Encoder 'conf' does not load: .*no config.json",
        "development task 'sickr' lacks .*SICK_trial.txt in .*acquire_evaluation.fetch=true",
        "There are no data of stsb:test, .*acquire_evaluation.fetch=true",
    )


def test_the_faults_of_each_variant_are_found(empty: Project, tmp_path: Path) -> None:
    (tmp_path / "multinli.train.en.tsv").write_text("premise\thypo\tlabel\n")
    inferences = {"kind": "nli", "path": str(tmp_path), "form": "shuffled", "languages": ["en", "ja"]}
    words = [{"kind": "lines", "path": "conf/README.md"}]
    mirror = {"method": "mirror_bert", "data": words, "setting": {"encoder": "conf"}}
    variants = [
        {**mirror, "name": "field", "setting": {"encoder": {"poolng": "cls"}}},
        {**mirror, "name": "task", "setting": {"test_tasks": "stsx"}},
        {**mirror, "name": "list", "data": [{"kind": "lines", "path": "words.txt"}]},
        {**mirror, "name": "pairs", "data": [{"kind": "pairs"}]},
        {**mirror, "name": "language", "data": [inferences]},
        {**mirror, "name": "batches", "training": {"batches": {"languages": "single"}}},
        {"method": "ease", "setting": {"encoder": "conf"}},
        {"method": "start", "setting": {"encoder": str(tmp_path / "scored.vec")}},
        {**mirror, "name": "words", "setting": {"encoder": str(tmp_path / "trained.vec")}},
    ]
    for name in ("scored.vec", "trained.vec"):
        (tmp_path / name).write_text("word 1 2\n")
    sweep = {"setting": {"start": "untrained"}, "variants": variants}
    local(empty, "parameters.yml", {"mirror_ablation": sweep})
    assert_lines(
        refused(empty, "mirror_ablation"),
        r"variant 'field' of 'mirror_ablation': .* no field `encoder.poolng`: did you mean pooling",
        "variant 'task' of 'mirror_ablation': .*Unknown evaluation task 'stsx'",
        "words.txt, which `data` of the method 'mirror_bert' names, does not exist",
        r"multinli\.train\.ja\.tsv, which `data` of the method 'mirror_bert' names, does not exist: put the texts",
        "'mirror_bert' trains on texts, which name neither .*: set `training.batches.languages` to mixed",
        "'mirror_ablation' reads the training pairs of 'monolingual', and there are none yet: make them by "
        "`kedro run --pipelines=train_monolingual --tags=acquire,",
        "variant 'ease encoder=conf' of 'mirror_ablation' trains on entities, and the pipeline makes none",
        "Encoder 'conf' does not load: .*no config.json",
        r"Encoder '\S*trained.vec' is not a transformer, and this training needs one",
    )


def test_a_checkpoint_with_other_layers_than_its_configuration_is_refused(
    empty: Project, tmp_path: Path
) -> None:
    sizes = RandomBertOptions(layers=2, hidden_size=16, heads=2, intermediate_size=32, vocabulary_size=300)
    save_encoder(build_encoder(EncoderOptions(random=sizes), ["one sentence", "another"]), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    lines = refused(empty, "train_monolingual", monolingual__setting__encoder__name=tmp_path)
    assert_lines(
        lines, "lack `encoder.layer.2.attention.output.LayerNorm.bias`, which its config.json describes"
    )


def test_only_sets_that_cannot_be_fetched_are_missing(empty: Project) -> None:
    given = {"multilingual__setting__dev_tasks": "stsb:dev mldoc", "acquire_evaluation__fetch": "true"}
    assert_lines(refused(empty, "train_multilingual", **given), "development task 'mldoc' lacks")


@pytest.mark.parametrize(
    ("pipeline", "given", "expected"),
    [
        ("grid", {"grid__setting__test_tasks": "stsx"}, "Unknown evaluation task 'stsx'"),
        ("grid", {"grid__tasks": "sts"}, "`tasks` was renamed: use `setting.test_tasks`"),
        ("train_multilingual", {"multilingual__setting__dev_tasks": "stx"}, "Unknown evaluation task 'stx'"),
        ("evaluate", {"evaluate__tasks": "stsb:devel"}, "'stsb'.*devel"),
        ("evaluate", {"evaluate__tasks": "stbs"}, "`evaluate`: tasks: Unknown .*'stbs': did you mean .*stsb"),
        ("train_multilingual", {"evaluate__tasks": "stbs"}, "Unknown .*'stbs': did you mean .*stsb"),
    ],
)
def test_a_wrong_name_of_a_task_is_refused(
    pipeline: str, given: dict[str, str], expected: str, empty: Project
) -> None:
    assert_lines(refused(empty, pipeline, **given), expected)


def test_a_wrong_subset_is_refused_without_located_sets(empty: Project) -> None:
    given = ("--namespaces=multilingual.ease", "--params", "evaluate.tasks=stsb:devel")
    done = empty.kedro("run", "--pipelines=evaluate", *given, check=False, start=False)
    assert done.returncode == 1
    assert re.search("'stsb': Unknown subset devel", done.stderr), done.stderr
    assert made_by(empty) == []


@pytest.mark.parametrize(
    ("pipeline", "given", "expected"),
    [
        ("train_multilingual", {"multilingual__setting__languages": "en xq"}, "Unknown language 'xq'"),
        ("acquire", {"multilingual__setting__languages": "en frx"}, "'frx' .*did you mean .*frp?"),
        ("acquire", {"multilingual__setting__languages": "en xq", "acquire__wikipedia": "folder"}, "'xq'"),
        ("mewsc16", {"mewsc16__languages": "en xq"}, "Unknown language 'xq'"),
    ],
)
def test_an_unknown_language_is_refused(
    pipeline: str, given: dict[str, str], expected: str, empty: Project, tmp_path: Path
) -> None:
    if given.get("acquire__wikipedia"):
        (tmp_path / "enwiki-20260101-pages-articles.xml").write_text("<mediawiki></mediawiki>")
        given = {**given, "acquire__wikipedia": str(tmp_path)}
    assert_lines(refused(empty, pipeline, **given), expected)


def test_the_dump_of_a_new_wiki_in_a_folder_is_accepted(empty: Project, tmp_path: Path) -> None:
    for language in ("en", "xq"):
        made(tmp_path, language=language)
    given = {"multilingual__setting__languages": "en xq", "acquire__wikipedia": tmp_path}
    lines = refused(empty, "train_multilingual", **given, work="conf/README.md/work")
    assert_lines(lines, "Cannot write to")


@pytest.mark.parametrize("setting", ["multilingual", "monolingual"])
def test_a_start_that_the_run_does_not_train_is_refused_with_the_commands_that_do(
    empty: Project, setting: str
) -> None:
    lines = refused(empty, f"train_{setting}", **{f"{setting}__setting__start": "mlm"})
    assert_lines(
        lines,
        f"`{setting}.setting.start` is mlm, .*`kedro run --pipelines=train_{setting} --tags=acquire,.*`, then .*"
        f"`kedro run --pipelines=train,evaluate --namespaces={setting}.mlm,.* --params {setting}.setting.start=mlm`",
    )


def test_a_start_that_was_built_with_other_values_is_refused(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.run("train_multilingual", "--to-nodes=multilingual.untrained.make_start_encoder")
    other = {"multilingual__setting__encoder__random__layers": 3}
    done = project.run("train", "--namespaces=multilingual.ease", check=False, **other)
    assert (
        "`multilingual.setting.encoder.random.layers` is 3, but `multilingual.untrained.encoder` was built with 1"
        in done.stderr
    )
    assert "`kedro run --pipelines=train_multilingual --tags=entity_embeddings` with the same" in done.stderr


def test_a_training_alone_is_checked_against_the_sets_that_were_located(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    dev = {"multilingual__setting__dev_tasks": "stsb:dev", "multilingual__setting__test_tasks": "stsb:test"}
    project.run("acquire_evaluation", "--namespaces=multilingual", **dev)
    before = made_by(project)
    done = project.run("train", "--namespaces=multilingual.simcse", check=False, **dev)
    assert "development task 'stsb' lacks" in done.stderr
    assert made_by(project) == before


def test_students_without_a_teacher_are_refused_with_the_commands_that_train_it(empty: Project) -> None:
    lines = refused(empty, "distill")
    assert_lines(
        lines,
        "no encoder of `ease_plus` .*`kedro run --pipelines=train_multilingual --tags=acquire,.*`, then .*"
        "`kedro run --pipelines=train --namespaces=multilingual.ease_plus`, or name another encoder as `teacher`",
        "No run has made `multilingual.dumps` yet",
    )


def test_a_teacher_that_does_not_load_is_refused(empty: Project) -> None:
    named = {f"multilingual__{kind}_student__teacher": "no/such-encoder" for kind in ("static", "shallow")}
    missing = "No run has made `multilingual.dumps` yet: first run `kedro run --pipelines=acquire`"
    assert_lines(refused(empty, "distill", **named), "Encoder 'no/such-encoder' does not load", missing)


def test_a_rank_above_the_languages_is_refused(empty: Project) -> None:
    given = {
        "evaluate__baselines__bert__name": "no/such-encoder",
        "evaluate__baselines__bert__language_rank": 18,
    }
    lines = refused(empty, "evaluate", **given)
    assert_lines(lines, r"`evaluate\.baselines\.bert\.language_rank`: .*rank 18 is above 3, .*lower the rank")


def test_an_unloadable_baseline_does_not_prevent_other_scores(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    given = {"evaluate__baselines__bert__name": "no/such-encoder", "evaluate__tasks": "stsb:dev"}
    done = project.run("evaluate", "--namespaces=baselines", check=False, **given)
    assert "baseline bert cannot be scored. Encoder 'no/such-encoder' does not load" in done.stderr
    assert made_by(project) != [], "nodes ran"


def test_each_run_of_a_process_says_once_which_encoders_its_analyses_exclude(
    bare: Project, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = load_catalog(bare)
    for _ in range(2):
        caplog.clear()
        with caplog.at_level("INFO", logger="ease"):
            find_faults(register_pipelines()["analysis"], catalog, bare.folder / "data", 0)
        (line,) = (text for text in caplog.messages if text.startswith("Not trained yet, and excluded: "))
        assert {"ease", "simcse", "untrained"} <= set(line.partition(": ")[2].split(", "))
