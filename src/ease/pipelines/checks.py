"""What is checked before the first node of a run: sources, languages, encoders, sets, folders and earlier results."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kedro.framework.project import pipelines
from kedro.io import AbstractVersionedDataset, CatalogProtocol
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from pydantic import ValidationError

from ease.encoders.check import check_encoder
from ease.encoders.options import RANDOM
from ease.entities.embeddings import EmbeddingOptions
from ease.entities.pairs import PairOptions
from ease.entities.released import find_released
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import LocatedSet, check_scorable, read_located, require_named_set, require_sets
from ease.io.addresses import is_remote
from ease.io.files import check_free_space, check_writable
from ease.io.versions import provenance_of
from ease.methods import UNTRAINED, method_names, method_record
from ease.options import dotted, format_validation_error
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.acquire_evaluation.nodes import (
    check_tasks,
    expected_sets,
    fetchable,
    locate_baseline_sets,
    locate_evaluation_sets,
)
from ease.pipelines.entity_embeddings.nodes import make_entity_embeddings, make_start_encoder
from ease.pipelines.entity_pairs.nodes import make_pairs
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder
from ease.pipelines.ingest.nodes import parse_wikipedia
from ease.pipelines.mewsc16.nodes import Mewsc16Options, locate_wikinews
from ease.pipelines.mine_bitext.nodes import BitextOptions, mine_pairs
from ease.pipelines.options import SAMPLE, AcquireOptions, EvaluateOptions, EvaluationSetOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.released_pairs.nodes import locate_released_pairs, require_source
from ease.pipelines.setting import EASE_PLUS, MLM, Setting, preparation_of
from ease.pipelines.sweep.nodes import run_sweep
from ease.pipelines.sweep.variants import START, Sweep, Variant
from ease.pipelines.teach.nodes import (
    build_start,
    check_taught_sources,
    locate_taught_dumps,
    locate_taught_sets,
    teach_encoder,
)
from ease.pipelines.train.nodes import fit_whitening, gather_method_texts, train_encoder
from ease.pipelines.training import missing_start
from ease.texts import source_options
from ease.texts.pairs import PREPARATION
from ease.wikimedia.dumps.files import Project, find_dumps
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, check_languages

Catalog = CatalogProtocol[Any, Any]

SPACE = 2.0
"""Bytes of disk for each byte of a compressed dump: 1.4 were measured for parsed parts and tables alone."""
AUDIT = "audit"
"""The task on a test set that is made from the setting's own dumps"""
FETCH = "`--params acquire_evaluation.fetch=true` fetches the files."


class Run:
    """The nodes that will run with their parameters, and the messages of failed checks.

    `typed` are the complete names of the parameters that `--params` gives.
    """

    def __init__(self, pipeline: Pipeline, catalog: Catalog, typed: Collection[str]) -> None:
        self.pipeline, self.catalog, self.made = pipeline, catalog, pipeline.all_outputs()
        self.typed = typed
        self.faults: list[str] = []
        self._loaded: dict[str, Any] = {}

    def check(self, check: Callable[..., object], *arguments: Any, **options: Any) -> None:
        """Run a check, and keep its message if it fails."""
        try:
            check(*arguments, **options)
        except ValidationError as error:  # of a recipe that a sweep varies
            self.faults.append(format_validation_error(error, Recipe))
        except EaseError as error:
            self.faults.extend(str(error).split("\n"))

    def given(self, node: Node, kind: Any) -> Any:
        """Return the parameter of a class that a node reads; None if there is none."""
        values = (self._load(name) for name in node.inputs if is_parameter(name))
        return next((value for value in values if isinstance(value, kind)), None)

    def parameter(self, name: str) -> Any:
        """Return a parameter by its complete name."""
        return self._load(f"params:{name}")

    def _load(self, name: str) -> Any:
        """Load a parameter once, since the catalog copies it at each load."""
        if name not in self._loaded:
            self._loaded[name] = self.catalog.load(name)
        return self._loaded[name]

    def has(self, name: str) -> bool:
        """Return whether a dataset exists or is made by this run."""
        return name in self.made or bool(self.catalog.exists(name))

    def check_sets(
        self, check: Callable[[Mapping[str, LocatedSet]], object], node: Node, references: Sequence[str]
    ) -> None:
        """Check a node's sets: those that this run will locate, or that an earlier run has located."""
        data = next(name for name in (*node.inputs, *node.outputs) if name.endswith("evaluation_data"))
        locating = [one for one in self.pipeline.nodes if data in one.outputs]
        if not locating:
            if self.catalog.exists(data):
                self.check(check, read_located(self.catalog.load(data)))
            return
        sets = self.given(locating[0], EvaluationSetOptions)

        def expected() -> None:
            found = expected_sets(references, sets, self.parameter("tasks"))
            try:
                check(found)
            except EaseError as error:
                offered = not sets.fetch and any(fetchable(task_name(reference)) for reference in references)
                raise EaseError(f"{error} {FETCH}" if offered else str(error)) from error

        self.check(expected)

    def without_audit(self, references: Iterable[str]) -> list[str]:
        """Return tasks without the audit if this run makes its set."""
        made = any(name.endswith(".audit_set") for name in self.made)
        return [reference for reference in references if not (made and task_name(reference) == AUDIT)]


def find_faults(pipeline: Pipeline, catalog: Catalog, data: Path, free: int, typed: Collection[str] = ()) -> list[str]:
    """Return one sentence for each fault that would stop the run."""
    run = Run(pipeline, catalog, typed)
    for node in pipeline.nodes:
        for check in (*CHECKS.get(node.func, ()), _check_recipe):
            run.check(check, node, run)
    for dataset in (catalog.get(name) for name in sorted(run.made)):
        if isinstance(dataset, AbstractVersionedDataset) and not getattr(dataset, "_fs_prefix", ""):
            run.check(check_writable, Path(dataset._filepath))
    run.check(_check_disk, run, data, free)
    run.check(_check_inputs, pipeline, catalog)
    run.check(_check_encoders, run)
    run.check(_check_engine, run)
    return list(dict.fromkeys(run.faults))


def _check_inputs(pipeline: Pipeline, catalog: Catalog) -> None:
    """Refuse a run that reads a version that does not exist, or a dataset that no run has made."""
    for name in sorted(pipeline.datasets()):
        dataset: Any = catalog.get(name)
        if (version := getattr(dataset, "chosen_version", None)) and not dataset.exists():
            raise EaseError(f"`{name}` has no version {version}: see {dataset.folder_of(version).parent}.")
    given = ((name, catalog.get(name)) for name in sorted(pipeline.inputs()))
    required = [name for name, dataset in given if not getattr(dataset, "may_be_missing", True)]
    if missing := [name for name in required if not catalog.exists(name)]:
        makers = dict.fromkeys(_maker(name) for name in missing)
        listed = ", ".join(f"`{name}`" for name in missing)
        raise EaseError(f"No run has made {listed} yet: first run {' and '.join(makers)}.")


def _maker(name: str) -> str:
    """Return the command that makes a dataset: the preparation of its setting, else the smallest pipeline."""
    setting = name.partition(".")[0]
    job = pipelines.get(f"train_{setting}")
    if job and name in job.only_nodes_with_tags(*PREPARATION.split(",")).all_outputs():
        return preparation_of(setting)
    making = [key for key in pipelines if name in pipelines[key].all_outputs()]
    return f"`kedro run --pipelines={min(making, key=lambda key: len(pipelines[key].nodes))}`"


def _check_encoders(run: Run) -> None:
    """Refuse to score if nothing is trained and no baseline is named."""
    scoring = [node for node in run.pipeline.nodes if node.func in (score_encoder, score_baselines)]
    encoders = [name for node in scoring for name in node.inputs if name.endswith(".encoder")]
    if scoring and not any(map(run.has, encoders)) and not run.given(scoring[0], EvaluateOptions).baselines:
        raise EaseError(
            "No encoder is trained, and `evaluate.baselines` names none: train by `kedro run "
            "--pipelines=train_multilingual`, or name one."
        )


def _check_engine(run: Run) -> None:
    if run.parameter("engine") != "spark":
        return
    if find_spec("pyspark") is None:
        raise EaseError("`engine=spark` needs PySpark: install the extra `spark` (docs/cluster.md).")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise EaseError(
            f"`engine=spark` needs a Java runtime, 17 or later, and there is none in {home or 'PATH'}: install one "
            "(`scripts/system_packages.sh java`), or leave `engine` at duckdb."
        )


def _check_disk(run: Run, data: Path, free: int) -> None:
    """Refuse a disk without room for the minimum free bytes and the parsed dumps."""
    nodes, dumps = {node.func: node for node in run.pipeline.nodes}, 0
    located = nodes.get(locate_dumps) or nodes.get(locate_taught_dumps)
    if parse_wikipedia in nodes and located is not None:
        setting, source = run.given(located, Setting), run.given(located, AcquireOptions).wikipedia
        parsed = run.catalog.exists(f"{setting.name}.sentences")
        if not (parsed or source == SAMPLE or is_mirror(source)):
            found = find_dumps(source, setting.languages)
            dumps = sum(dump.path.stat().st_size for dump in found if not is_remote(dump.path))
    check_free_space(data, free + round(dumps * SPACE))


def _check_recipe(node: Node, run: Run) -> None:
    if recipe := run.given(node, Recipe):
        try:
            recipe.check_options()
        except EaseError as error:
            setting = run.given(node, Setting).name
            raise EaseError(f"Parameter `{setting}.{recipe.method}`: {error}") from error


def _check_dumps(node: Node, run: Run) -> None:
    _check_languages(run.given(node, AcquireOptions).wikipedia, run.given(node, Setting).languages, "wiki")


def _check_released(node: Node, run: Run) -> None:
    source = require_source(run.given(node, PairOptions), run.given(node, Setting))
    if not is_mirror(source):
        find_released(source)


def _check_taught_dumps(node: Node, run: Run) -> None:
    given = run.parameter("teach.language"), run.parameter("teach.companions")
    check_taught_sources(*given, run.given(node, AcquireOptions), run.given(node, Setting).languages)


def _check_wikinews(node: Node, run: Run) -> None:
    options = run.given(node, Mewsc16Options)
    _check_languages(options.wikinews, options.languages, "wikinews")


def _check_languages(source: str, languages: Sequence[str], project: Project) -> None:
    """Refuse unknown languages; a folder may have dumps of others, and a mirror's list is checked later."""
    if is_mirror(source) or WIKIPEDIA_LANGUAGES.issuperset(languages):
        return
    if source == SAMPLE:
        check_languages(languages)
    else:
        find_dumps(source, languages, project)


def _check_encoder(node: Node, run: Run) -> None:
    check_encoder(run.given(node, Setting).encoder.name, transformer=True)


def _check_pairs(node: Node, run: Run) -> None:
    """Refuse released pairs, and pairs for a training that the audit judges if they may be of the audit's pages."""
    setting, pairs = run.given(node, Setting), run.given(node, PairOptions)
    if pairs.released is not None:
        raise EaseError(
            f"`{setting.name}.pairs.released` names pairs, and this run makes others from dumps: read the released "
            f"ones by `kedro run --pipelines=released_pairs --namespaces={setting.name}` (docs/own_data.md), or set "
            "the parameter to null."
        )
    judged = AUDIT in map(task_name, (*setting.dev_tasks, *setting.test_tasks))
    if judged and not pairs.without_audit:
        raise EaseError(
            f"The tasks of the setting {setting.name} have `{AUDIT}`, whose pages are among the training pairs: set "
            f"`{setting.name}.pairs.without_audit` to true, or name other tasks."
        )


def _check_vectors(node: Node, run: Run) -> None:
    file = run.given(node, EmbeddingOptions).file
    if file is not None and not file.is_file():
        raise EaseError(f"{file} does not exist: set `entity_embeddings.file` to the file of vectors.")


def _check_training(node: Node, run: Run) -> None:
    recipe = run.given(node, Recipe)
    if anchor := recipe.options.get("anchor"):
        run.check(check_encoder, anchor, transformer=True)
    run.check(recipe.check_frozen)
    _check_development(node, run, run.given(node, Setting).dev_tasks)


def _check_development(node: Node, run: Run, wanted: Sequence[str]) -> None:
    references, tasks = run.without_audit(wanted), run.parameter("tasks")
    for name in dict.fromkeys(map(task_name, references)):
        own = [reference for reference in references if task_name(reference) == name]
        run.check_sets(partial(require_sets, own, options=tasks), node, own)


def _check_start(node: Node, run: Run) -> None:
    """Refuse a start that is missing, or that an earlier run built from other languages or another encoder."""
    setting: Setting = run.given(node, Setting)
    method, mlm = str(node.namespace).rpartition(".")[2], f"{setting.name}.{MLM}.encoder"
    if setting.start == MLM and method != MLM and not (mlm in node.inputs and run.has(mlm)):
        raise EaseError(missing_start(setting, method))
    start = f"{setting.name}.{UNTRAINED}.encoder"
    dataset: Any = run.catalog.get(start)
    if start in run.made or not dataset.exists():
        return
    made_from = provenance_of(dataset.folder_of(dataset.resolve_load_version()))
    built = dotted(made_from.get("parameters", {}).get(f"params:{setting.name}.setting", {}))
    for name, value in dotted(setting.model_dump(mode="json", include={"languages", "encoder"})).items():
        if name in built and built[name] != value:
            raise EaseError(
                f"`{setting.name}.setting.{name}` is {value!r}, but `{start}` was built with {built[name]!r}, "
                f"and the training would start from it: first run {preparation_of(setting.name)} with the same "
                "`--params`."
            )


def _check_mining_encoder(node: Node, run: Run) -> None:
    """Check the encoder that `mine_bitext.encoder` names; without one, require the setting's encoder of EASE+."""
    setting = run.given(node, Setting).name
    if encoder := run.given(node, BitextOptions).encoder:
        check_encoder(encoder)
    elif not run.has(f"{setting}.{EASE_PLUS}.encoder"):
        train = f"`kedro run --pipelines=train --namespaces={setting}.{EASE_PLUS}`"
        raise EaseError(
            f"There is no encoder of `{EASE_PLUS}` to compare the sentences by: make the data by "
            f"{preparation_of(setting)}, then train it by {train}, or name another encoder as `mine_bitext.encoder`."
        )


def _check_sets(node: Node, run: Run) -> None:
    setting, tasks = run.given(node, Setting), run.parameter("tasks")
    check_tasks((*setting.dev_tasks, *setting.test_tasks), tasks)
    if (option := f"{setting.name}.setting.test_tasks") in run.typed:
        for named in run.without_audit(setting.test_tasks):
            run.check_sets(partial(require_named_set, named, option), node, [named])
    _check_scored(node, run)


def _check_scored(node: Node, run: Run) -> None:
    """Check the tasks that `evaluate.tasks` names, which must have data; others without data are skipped."""
    options = run.given(node, EvaluateOptions)
    check_tasks(options.references(()), run.parameter("tasks"))
    for named in run.without_audit(options.named):
        run.check_sets(partial(require_named_set, named, "evaluate.tasks"), node, [named])


def _check_sweep(node: Node, run: Run) -> None:
    sweep, tasks = run.given(node, Sweep), run.parameter("tasks")
    setting = sweep.own_setting(run.given(node, Setting))
    named = {name: f"params:{setting.name}.{name}" for name in method_names()}
    recipes = {name: run.catalog.load(given) for name, given in named.items() if given in node.inputs}
    available = {name.rpartition(".")[2].removeprefix("kept_") for name in node.inputs if run.has(name)}
    settings, encoders = list[Setting](), dict[str, bool]()
    for variant in sweep.all_variants(setting.languages):
        try:
            varied = sweep.varied_setting(setting, variant)
        except EaseError as error:
            run.faults.append(str(error))
            continue
        settings.append(varied)
        encoders[varied.encoder.name] = encoders.get(varied.encoder.name, False) or variant.method != START
        run.check(_check_variant, run, sweep, variant, varied, recipes, available)
    for name, trained in encoders.items():
        run.check(check_encoder, name, transformer=trained)
    for joined in sweep.joined.values():
        run.check(check_tasks, joined.tasks, tasks)
    for dev_tasks, test_tasks in dict.fromkeys((one.dev_tasks, one.test_tasks) for one in settings):
        if any(encoders.values()):
            _check_development(node, run, dev_tasks)
        run.check(check_tasks, test_tasks, tasks)
        run.check_sets(partial(check_scorable, test_tasks), node, test_tasks)


def _check_variant(
    run: Run, sweep: Sweep, variant: Variant, varied: Setting, recipes: Mapping[str, Any], available: Iterable[str]
) -> None:
    """Refuse a variant whose texts, teacher or guide do not exist, or that reads data which no run has made."""
    needs = {"sentences": "sentences"} if varied.encoder.name == RANDOM else {}
    start = [Variant(method=MLM, seeds=variant.seeds)] if varied.start == MLM else []
    for one in start + [variant] * (variant.method != START):
        recipe = one.varied(recipes, variant.seeds[0])
        run.check(recipe.check_texts)
        run.check(recipe.check_frozen)
        entities = method_record(recipe.method).reads_entities
        if entities or any(source_options(text).reads_pairs for text in recipe.data or ()):
            needs["training_pairs"] = "training pairs"
        if entities and "entity_vocabulary" not in available:
            raise EaseError(
                f"The variant {variant.label!r} of {sweep.name!r} trains on entities, and the pipeline makes none: "
                "set `entities: true` for the sweep in src/ease/pipelines/sweep/sweeps.yml."
            )
    if lacking := " and ".join(what for name, what in needs.items() if name not in available):
        raise EaseError(
            f"The sweep {sweep.name!r} reads the {lacking} of {varied.name!r}, and there are none yet: make them by "
            f"{preparation_of(varied.name)}."
        )


CHECKS: dict[Callable[..., Any], list[Callable[[Node, Run], object]]] = {
    locate_dumps: [_check_dumps],
    locate_released_pairs: [_check_released],
    locate_taught_dumps: [_check_taught_dumps],
    locate_wikinews: [_check_wikinews],
    make_start_encoder: [_check_encoder],
    build_start: [_check_encoder],
    make_pairs: [_check_pairs],
    make_entity_embeddings: [_check_vectors],
    gather_method_texts: [lambda node, run: run.given(node, Recipe).check_texts()],
    train_encoder: [_check_start, _check_training],
    teach_encoder: [_check_training],
    fit_whitening: [_check_start],
    mine_pairs: [_check_mining_encoder],
    locate_evaluation_sets: [_check_sets],
    locate_taught_sets: [_check_sets],
    locate_baseline_sets: [_check_scored],
    score_encoder: [_check_scored],
    score_baselines: [_check_scored],
    run_sweep: [_check_sweep],
}
"""The checks of each node, by its function."""
