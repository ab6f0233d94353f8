"""What is checked before the first node of a run: sources, languages, encoders, sets, folders and earlier results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kedro.framework.project import pipelines
from kedro.io import AbstractVersionedDataset
from kedro.pipeline import Pipeline

from ease.encoders.check import check_encoder
from ease.encoders.options import check_rank
from ease.entities.bitext import language_pairs
from ease.entities.released import find_released
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.io.addresses import is_remote
from ease.io.files import check_free_space, check_writable
from ease.io.names import PREPARATION
from ease.io.nested import dotted
from ease.io.versions import provenance_of
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire_evaluation.checks import check_tasks
from ease.pipelines.acquire_evaluation.nodes import (
    locate_baseline_sets,
    locate_evaluation_sets,
)
from ease.pipelines.analysis.pipeline import ANALYSIS_TAG
from ease.pipelines.distill.nodes import distill_shallow, distill_static
from ease.pipelines.entity_embeddings.nodes import make_entity_embeddings
from ease.pipelines.entity_pairs.nodes import make_pairs
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder
from ease.pipelines.ingest.nodes import parse_wikipedia
from ease.pipelines.mewsc16.nodes import locate_wikinews
from ease.pipelines.mine_bitext.nodes import find_bitext_candidates, mine_pairs
from ease.pipelines.publish.nodes import check_token, free_folder, write_folder
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.steps import AUDIT, Catalog, Faults, Run, Step
from ease.pipelines.sweep.checks import check_sweep
from ease.pipelines.sweep.nodes import run_sweep
from ease.pipelines.teach.nodes import (
    build_start,
    locate_taught_dumps,
    locate_taught_sets,
    teach_encoder,
)
from ease.pipelines.teach.options import check_taught_sources
from ease.pipelines.train.nodes import fit_whitening, gather_method_texts, make_start_encoder, train_encoder
from ease.pipelines.training import missing_encoder, missing_start
from ease.wikimedia.dumps.files import Project, find_dumps
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, check_languages

logger = logging.getLogger(__name__)

SPACE = 2.0
"""Bytes of disk for each byte of a compressed dump: 1.4 were measured for parsed parts and tables alone."""


def find_faults(pipeline: Pipeline, catalog: Catalog, data: Path, free: int) -> list[str]:
    """Return one sentence for each fault that would stop the run; warn of other faults.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
        data: The root of all data.
        free: Minimum free bytes of its disk.
    """
    run, faults = Run(pipeline, catalog), Faults()
    for step in run.steps:
        for check in (*CHECKS.get(step.function, ()), _check_recipes, _check_folders):
            faults.add(check, step, run)
    for dataset in (catalog.get(name) for name in sorted(pipeline.all_outputs())):
        if isinstance(dataset, AbstractVersionedDataset) and not getattr(dataset, "_fs_prefix", ""):
            faults.add(check_writable, Path(dataset._filepath))
    faults.add(_check_disk, run, data, free)
    analysed = {name for node in pipeline.nodes if ANALYSIS_TAG in node.tags for name in node.inputs}
    encoders = {name for name in analysed if name.endswith(".encoder")} - pipeline.all_outputs()
    if absent := sorted(name.split(".")[-2] for name in encoders if not catalog.exists(name)):
        logger.info("Not trained yet, and excluded: %s", ", ".join(absent))
    faults.add(_check_inputs, pipeline, catalog)
    # A check may repeat another one's fault and add a remedy.
    longest = [one for one in faults if not any(other != one and other.startswith(one) for other in faults)]
    return list(dict.fromkeys(longest))


def _check_inputs(pipeline: Pipeline, catalog: Catalog) -> None:
    """Refuse a run that reads a version that does not exist, or a dataset that no run has made."""
    for name in _missing(pipeline, catalog):
        dataset: Any = catalog.get(name)
        if version := dataset.chosen_version:
            raise EaseError(f"`{name}` has no version {version}: see {dataset.folder_of(version).parent}.")
    if missing := _missing(pipeline, catalog):
        chosen, waiting = set[str](), list(missing)
        while waiting:
            name = waiting.pop()
            making = [key for key in pipelines if name in pipelines[key].all_outputs()]
            smallest = min(making, key=lambda key: len(pipelines[key].nodes))
            waiting += () if smallest in chosen else _missing(pipelines[smallest], catalog)
            chosen.add(smallest)
        makers = ",".join(key for key in pipelines if key in chosen)
        listed = ", ".join(f"`{name}`" for name in missing)
        raise EaseError(f"No run has made {listed} yet: first run `kedro run --pipelines={makers}`.")


def _missing(pipeline: Pipeline, catalog: Catalog) -> list[str]:
    """Return the inputs of a pipeline that do not exist, and without which it cannot run."""
    from ease.datasets.files import AtomicSave  # imports Plotly Express

    given: list[tuple[str, Any]] = [(name, catalog.get(name)) for name in sorted(pipeline.inputs())]
    saved = [(name, dataset) for name, dataset in given if isinstance(dataset, AtomicSave)]
    return [name for name, dataset in saved if not dataset.may_be_missing and not dataset.exists()]  # type: ignore[attr-defined]


def _check_disk(run: Run, data: Path, free: int) -> None:
    """Refuse a disk without room for the minimum free bytes and the parsed dumps."""
    dumps = 0
    if any(step.function is parse_wikipedia for step in run.steps):
        for step in (one for one in run.steps if one.function in (locate_dumps, locate_taught_dumps)):
            setting, source = step["setting"], step.one(AcquireOptions).wikipedia
            parsed = run.catalog.exists(f"{setting.name}.sentences")
            if not (parsed or _released(step) or source == SAMPLE or is_mirror(source)):
                found = find_dumps(source, setting.languages)
                dumps += sum(dump.path.stat().st_size for dump in found if not is_remote(dump.path))
    check_free_space(data, free + round(dumps * SPACE))


def _check_recipes(step: Step, run: Run) -> None:
    """Check the method's parameters of each recipe that a node reads."""
    for name, recipe in step.of(Recipe).items():
        try:
            recipe.check_options()
        except EaseError as error:
            raise EaseError(f"Parameter `{name}`: {error}") from error


def _check_folders(step: Step, run: Run) -> None:
    """Check the folders, other than its datasets, that a node writes to."""
    faults = Faults()
    if step.name_of("work"):
        faults.add(check_writable, Path(step["work"]))
    if (options := step.one(AcquireOptions)) is not None:
        sources = (
            (released,) if (released := _released(step)) else (options.wikipedia, options.wikidata or "")
        )
        if SAMPLE in sources:
            faults.add(check_writable, options.sample_folder)
        if any(map(is_mirror, sources)):
            faults.add(check_writable, options.download_folder)
    faults.report()


def _released(step: Step) -> str | None:
    """Return the released pairs that are read in place of dumps."""
    return step["pairs"].released if step.name_of("pairs").startswith("params:") else None


def _check_dumps(step: Step, run: Run) -> None:
    if (released := _released(step)) and not is_mirror(released):
        find_released(released)
    elif not released:
        _check_languages(step["options"].wikipedia, step["setting"].languages, "wiki")


def _check_taught_dumps(step: Step, run: Run) -> None:
    check_taught_sources(step["language"], step["companions"], step["acquire"], step["setting"].languages)


def _check_wikinews(step: Step, run: Run) -> None:
    _check_languages(step["options"].wikinews, step["options"].languages, "wikinews")


def _check_languages(source: str, languages: Sequence[str], project: Project) -> None:
    """Refuse unknown languages; a folder may have dumps of others, and a mirror's list is checked later."""
    if is_mirror(source) or WIKIPEDIA_LANGUAGES.issuperset(languages):
        return
    if source == SAMPLE:
        check_languages(languages)
    else:
        find_dumps(source, languages, project)


def _check_encoder(step: Step, run: Run) -> None:
    check_encoder(step["setting"].encoder.name, transformer=True)


def _check_pairs(step: Step, run: Run) -> None:
    """Refuse pairs for a training that the audit judges if they may be of the audit's pages."""
    setting = step["setting"]
    judged = AUDIT in map(task_name, (*setting.dev_tasks, *setting.test_tasks))
    if judged and not step["options"].without_audit:
        raise EaseError(
            f"The tasks of the setting {setting.name} have `{AUDIT}`, whose pages are among the training pairs: set "
            f"`{setting.name}.pairs.without_audit` to true, or name other tasks."
        )


def _check_vectors(step: Step, run: Run) -> None:
    file = step["options"].file
    if file is not None and not file.is_file():
        raise EaseError(f"{file} does not exist: set `entity_embeddings.file` to the file of vectors.")


def _check_texts(step: Step, run: Run) -> None:
    step["recipe"].check_texts()


def _check_training(step: Step, run: Run) -> None:
    """Check a training's anchor, teacher, guide and development sets."""
    faults, recipe = Faults(), step["recipe"]
    if anchor := recipe.options.get("anchor"):
        faults.add(check_encoder, anchor, transformer=True)
    faults.add(recipe.check_frozen)
    faults.add(run.check_development, step, step["setting"].dev_tasks)
    faults.report()


def _check_start(step: Step, run: Run) -> None:
    """Refuse a start that is missing, or that an earlier run built from other languages or another encoder.

    A run of a single stage or method loads the start that an earlier run saved. Other values in `--params` of that run
    alone would have no effect.
    """
    from ease.datasets.files import AtomicSave  # imports Plotly Express

    setting: Setting = step["setting"]
    method = step.namespace.rpartition(".")[2]
    if setting.start == MLM and method != MLM and not step.has("mlm"):
        raise EaseError(missing_start(setting, method))
    start = step["untrained"]
    dataset: Any = run.catalog.get(start)
    if start in run.pipeline.all_outputs() or not isinstance(dataset, AtomicSave) or not dataset.exists():  # type: ignore[attr-defined]
        return
    made_from = provenance_of(dataset.folder_of(dataset.resolve_load_version()))  # type: ignore[attr-defined]
    built = made_from.get("parameters", {}).get(f"params:{setting.name}.setting", {})
    now = setting.model_dump(mode="json")
    for field, stages in (("languages", PREPARATION), ("encoder", "entity_embeddings")):
        old, new = dotted({field: built.get(field, now[field])}), dotted({field: now[field]})
        for name in (name for name in new if old.get(name) != new[name]):
            raise EaseError(
                f"`{setting.name}.setting.{name}` is {new[name]!r}, but `{start}` was built with {old.get(name)!r}, "
                f"and the training would start from it: first run `kedro run --pipelines=train_{setting.name} "
                f"--tags={stages}` with the same `--params`."
            )


def _check_teacher(step: Step, run: Run) -> None:
    if teacher := step["options"].teacher:
        check_encoder(teacher, transformer=True)
    elif not step.has("teacher"):
        raise EaseError(missing_encoder(step["setting"].name, "for the students to learn from", "teacher"))


def _check_candidates(step: Step, run: Run) -> None:
    language_pairs(step["setting"].languages, step["options"])


def _check_miner(step: Step, run: Run) -> None:
    if encoder := step["options"].encoder:
        check_encoder(encoder)
    elif not step.has("encoder"):
        purpose, option = "to compare the sentences by", "mine_bitext.encoder"
        raise EaseError(missing_encoder(step["setting"].name, purpose, option))


def _check_publishing(step: Step, run: Run) -> None:
    free_folder(step["options"].folder)
    check_token(step["options"])


def _check_sets(step: Step, run: Run) -> None:
    setting = step["setting"]
    references = (*setting.dev_tasks, *setting.test_tasks, *step["evaluate"].references(()))
    check_tasks(references, step["tasks"])


def _check_scored(step: Step, run: Run) -> None:
    check_tasks(step["evaluate"].references(()), step["tasks"])


def _check_baselines(step: Step, run: Run) -> None:
    """Refuse a rank that the languages do not span; a baseline that does not load must not prevent other scores."""
    languages = max(len(setting.languages) for setting in step.of(Setting).values())
    for name, baseline in step["evaluate"].baselines.items():
        faults = Faults()
        faults.add(check_encoder, baseline.name)
        for fault in faults:
            logger.warning("The baseline %s cannot be scored. %s", name, fault)
        try:
            check_rank(baseline.language_rank, languages=languages)
        except EaseError as error:
            raise EaseError(f"`evaluate.baselines.{name}.language_rank`: {error}") from error


CHECKS: dict[Callable[..., Any], Iterable[Callable[[Step, Run], None]]] = {
    locate_dumps: [_check_dumps],
    locate_taught_dumps: [_check_taught_dumps],
    locate_wikinews: [_check_wikinews],
    make_start_encoder: [_check_encoder],
    build_start: [_check_encoder],
    make_pairs: [_check_pairs],
    make_entity_embeddings: [_check_vectors],
    gather_method_texts: [_check_texts],
    train_encoder: [_check_start, _check_training],
    teach_encoder: [_check_training],
    fit_whitening: [_check_start],
    distill_static: [_check_teacher],
    distill_shallow: [_check_teacher],
    find_bitext_candidates: [_check_candidates],
    mine_pairs: [_check_miner],
    write_folder: [_check_publishing],
    locate_evaluation_sets: [_check_sets],
    locate_taught_sets: [_check_sets],
    locate_baseline_sets: [_check_scored],
    score_encoder: [_check_scored],
    score_baselines: [_check_baselines],
    run_sweep: [check_sweep],
}
"""The checks of each node, by its function."""
