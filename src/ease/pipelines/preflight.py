"""Find errors that would stop a run late before its first node, from its nodes and their parameters."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from kedro.io import AbstractVersionedDataset
from kedro.pipeline import Pipeline
from pydantic import ValidationError

from ease.encoders.check import check_encoder
from ease.encoders.options import check_rank
from ease.entities.bitext import language_pairs
from ease.entities.embeddings import EmbeddingOptions
from ease.entities.pairs import PairOptions
from ease.entities.released import find_released
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.io.addresses import is_remote
from ease.io.files import check_free_space, check_writable
from ease.io.validation import format_validation_error
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire_evaluation.checks import check_tasks
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions
from ease.pipelines.analysis.pipeline import ANALYSIS_TAG
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.mewsc16.nodes import Mewsc16Options
from ease.pipelines.mine_bitext.options import BitextOptions
from ease.pipelines.missing_inputs import find_missing_inputs
from ease.pipelines.node_checks import Catalog, Check, Step, development_checks, read_step, text_checks
from ease.pipelines.publish.nodes import check_token, free_folder
from ease.pipelines.publish.options import PublishOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.starts import (
    find_missing_miners,
    find_missing_starts,
    find_missing_teachers,
    find_stale_starts,
)
from ease.pipelines.sweep.checks import sweep_checks
from ease.pipelines.teach.options import TEACH, check_taught_sources
from ease.training.students import StudentOptions
from ease.wikimedia.dumps.files import Project, find_dumps
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, check_languages

logger = logging.getLogger(__name__)

AUDIT = "audit"
"""The task on a test set that is made from the setting's own dumps"""

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
    steps = [read_step(node, catalog) for node in pipeline.nodes]
    locating = {step.evaluation_data: step for step in steps if step.has(EvaluationSetOptions)}
    made = {AUDIT} if any(step.name == "write_audit" for step in steps) else set()
    checks = [check for step in steps for check in (*_language_checks(step), *_folder_checks(step))]
    for step in steps:
        checks += [*_checks(step, locating, catalog, made), *sweep_checks(step, locating, catalog)]
        checks += [*_recipe_checks(step), *_teacher_checks(step), *_mining_checks(step)]
        checks += _publish_checks(step)
    for dataset in (catalog.get(name) for name in sorted(pipeline.all_outputs())):
        if isinstance(dataset, AbstractVersionedDataset) and not getattr(dataset, "_fs_prefix", ""):
            checks.append(partial(check_writable, Path(dataset._filepath)))
    checks.append(partial(_check_disk, steps, catalog, data, free))
    _log_excluded(pipeline, catalog)
    finders = (find_missing_starts, find_stale_starts, find_missing_teachers, find_missing_miners)
    # Their messages name the commands that make all data.
    missing = [message for find in finders for message in find(pipeline, catalog)]
    missing = missing or find_missing_inputs(pipeline, catalog)
    faults = [fault for fault in (*missing, *map(_fault, checks)) if fault is not None]
    # A check may repeat another one's fault and add a remedy.
    longest = [one for one in faults if not any(other != one and other.startswith(one) for other in faults)]
    return list(dict.fromkeys(longest))


def _log_excluded(pipeline: Pipeline, catalog: Catalog) -> None:
    """Log once which encoders the analyses of a run exclude."""
    analysed = {name for node in pipeline.nodes if ANALYSIS_TAG in node.tags for name in node.inputs}
    encoders = {name for name in analysed if name.endswith(".encoder")} - pipeline.all_outputs()
    if absent := sorted(name for name in encoders if not catalog.exists(name)):
        methods = ", ".join(name.split(".")[-2] for name in absent)
        logger.info("Not trained yet, and excluded: %s", methods)


def _check_disk(steps: list[Step], catalog: Catalog, data: Path, free: int) -> None:
    """Refuse a disk without room for the minimum free bytes and the parsed dumps."""
    parses = any(step.name == "parse_wikipedia" for step in steps)
    dumps = sum(_dump_bytes(step, catalog) for step in steps if parses and step.name == "locate_dumps")
    check_free_space(data, free + round(dumps * SPACE))


def _dump_bytes(step: Step, catalog: Catalog) -> int:
    """Return the size of the Wikipedia dumps on this machine that no run has parsed yet."""
    setting, source = step.get(Setting), step.get(AcquireOptions).wikipedia
    if (
        _released(step)
        or source == SAMPLE
        or is_mirror(source)
        or catalog.exists(f"{setting.name}.sentences")
    ):
        return 0
    dumps = find_dumps(source, setting.languages)
    return sum(dump.path.stat().st_size for dump in dumps if not is_remote(dump.path))


def _fault(check: Check) -> str | None:
    try:
        check()
    except ValidationError as error:  # of a recipe that a sweep varies
        return format_validation_error(error, Recipe)
    except EaseError as error:
        return str(error)
    return None


def _checks(
    step: Step, locating: Mapping[str | None, Step], catalog: Catalog, made: Collection[str]
) -> Iterator[Check]:
    """Yield the checks of a node; the run makes the data of the evaluation tasks `made`."""
    match step.name:
        case "build_encoder":
            yield partial(check_encoder, step.get(Setting).encoder.name, transformer=True)
        case "locate_evaluation_sets":
            setting, evaluate = step.get(Setting), step.get(EvaluateOptions)
            references = (*setting.dev_tasks, *setting.test_tasks, *evaluate.references(()))
            yield partial(check_tasks, references, step.tasks)
        case "locate_baseline_sets" | "score_encoder":
            yield partial(check_tasks, step.get(EvaluateOptions).references(()), step.tasks)
        case "select_pairs":
            yield partial(_check_audit_is_left_out, step.get(Setting), step.get(PairOptions))
        case "embed_entities":
            yield partial(_check_vectors, step.get(EmbeddingOptions))
        case "gather_texts":
            yield from text_checks(step.get(Recipe))
        case "train_encoder":
            if anchor := step.get(Recipe).options.get("anchor"):
                yield partial(check_encoder, anchor, transformer=True)
            yield step.get(Recipe).check_frozen
            wanted = [task for task in step.get(Setting).dev_tasks if task_name(task) not in made]
            yield from development_checks(step, wanted, locating, catalog)
        case "score_baselines":
            _warn_of_baselines(step.get(EvaluateOptions))
            yield partial(_check_language_ranks, step)


def _recipe_checks(step: Step) -> Iterator[Check]:
    """Yield a check of the method's parameters of each recipe."""
    for name, recipe in step.parameters.items():
        if isinstance(recipe, Recipe):
            yield partial(_check_recipe, name, recipe)


def _check_recipe(name: str, recipe: Recipe) -> None:
    try:
        recipe.check_options()
    except EaseError as error:
        raise EaseError(f"Parameter `{name}`: {error}") from error


def _teacher_checks(step: Step) -> Iterator[Check]:
    """Yield a check of a student's teacher, if the options name one."""
    if step.name == "distill_encoder" and (teacher := step.get(StudentOptions).teacher):
        yield partial(check_encoder, teacher, transformer=True)


def _mining_checks(step: Step) -> Iterator[Check]:
    """Yield checks of the languages whose sentences are mined, and of the encoder if the options name one."""
    if step.name == "find_candidates":
        yield partial(language_pairs, step.get(Setting).languages, step.get(BitextOptions))
    elif step.name == "mine_pairs" and (encoder := step.get(BitextOptions).encoder):
        yield partial(check_encoder, encoder)


def _publish_checks(step: Step) -> Iterator[Check]:
    """Yield checks of the folder to write, and of the token of a push."""
    if step.name == "write_published_folder":
        options = step.get(PublishOptions)
        yield partial(free_folder, options.to)
        yield partial(check_token, options)


def _released(step: Step) -> str | None:
    """Return the released pairs that are read in place of dumps."""
    return step.get(PairOptions).released if step.has(PairOptions) else None


def _language_checks(step: Step) -> Iterator[Check]:
    """Yield a check of the languages whose dumps a node locates."""
    if step.name == "locate_dumps" and f"{TEACH}.language" in step.parameters:
        language, companions = (step.parameters[f"{TEACH}.{name}"] for name in ("language", "companions"))
        yield partial(
            check_taught_sources, language, companions, step.get(AcquireOptions), step.get(Setting).languages
        )
    elif step.name == "locate_dumps" and (released := _released(step)):
        if not is_mirror(released):
            yield partial(find_released, released)
    elif step.name == "locate_dumps":
        source, languages = step.get(AcquireOptions).wikipedia, step.get(Setting).languages
        yield partial(_check_languages, source, languages, "wiki")
    elif step.name == "locate_wikinews":
        news = step.get(Mewsc16Options)
        yield partial(_check_languages, news.wikinews, news.languages, "wikinews")


def _check_languages(source: str, languages: Sequence[str], project: Project) -> None:
    """Refuse unknown languages; a folder may have dumps of others, and a mirror's list is checked later."""
    if is_mirror(source) or WIKIPEDIA_LANGUAGES.issuperset(languages):
        return
    if source == SAMPLE:
        check_languages(languages)
    else:
        find_dumps(source, languages, project)


def _folder_checks(step: Step) -> Iterator[Check]:
    """Yield checks of the folders, other than its datasets, that a node writes to."""
    if "work" in step.parameters:
        yield partial(check_writable, Path(step.parameters["work"]))
    if not step.has(AcquireOptions):
        return
    options = step.get(AcquireOptions)
    sources = (released,) if (released := _released(step)) else (options.wikipedia, options.wikidata or "")
    if SAMPLE in sources:
        yield partial(check_writable, options.sample_folder)
    if any(map(is_mirror, sources)):
        yield partial(check_writable, options.download_folder)


def _check_vectors(options: EmbeddingOptions) -> None:
    if options.file is not None and not options.file.is_file():
        raise EaseError(
            f"{options.file} does not exist: set `entity_embeddings.file` to the file of vectors."
        )


def _check_audit_is_left_out(setting: Setting, pairs: PairOptions) -> None:
    """Refuse pairs for a training that the audit judges if they may be of the audit's pages."""
    if AUDIT in map(task_name, (*setting.dev_tasks, *setting.test_tasks)) and not pairs.without_audit:
        raise EaseError(
            f"The tasks of the setting {setting.name} have `{AUDIT}`, whose pages are among the training pairs: set "
            f"`{setting.name}.pairs.without_audit` to true, or name other tasks."
        )


def _warn_of_baselines(options: EvaluateOptions) -> None:
    """Warn only: a baseline that does not load must not prevent the scores of the others."""
    for name, baseline in options.baselines.items():
        if fault := _fault(partial(check_encoder, baseline.name)):
            logger.warning("The baseline %s cannot be scored. %s", name, fault)


def _check_language_ranks(step: Step) -> None:
    """Refuse a rank of the language subspace that the settings' languages do not span."""
    languages = max(len(given.languages) for given in step.parameters.values() if isinstance(given, Setting))
    for name, baseline in step.get(EvaluateOptions).baselines.items():
        try:
            check_rank(baseline.language_rank, languages=languages)
        except EaseError as error:
            raise EaseError(f"`evaluate.baselines.{name}.language_rank`: {error}") from error
