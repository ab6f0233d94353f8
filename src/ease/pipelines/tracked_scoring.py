"""Score one encoder on evaluation tasks in an MLflow run, task by task; keep the scores of other tasks if one fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ease.encoders.options import EncodingOptions
from ease.encoders.prompts import summarize_prompts
from ease.errors import EaseError
from ease.evaluation.score_cache import cached_scores, items_file, scoring_version
from ease.evaluation.scores import Score
from ease.evaluation.scoring import BASELINES, score_task, select_tasks
from ease.evaluation.sets import LocatedSet, LocatedSets, located_parameters, scorable
from ease.evaluation.tasks import TaskParameters
from ease.evaluation.tasks.base import Task
from ease.io.locks import temporary_folder
from ease.io.progress import ProgressBar
from ease.lazy import Table
from ease.options import Rows, dotted
from ease.pipelines.options import Baseline
from ease.pipelines.setting import preparation_of
from ease.pipelines.tracking import (
    headline,
    log_parameters,
    log_scores,
    nested_run,
)
from ease.similarity.encode import Encode, Truncated

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)


class Scoring(NamedTuple):
    """What encoders are scored on, and how they encode."""

    references: Sequence[str]
    """Tasks, or single subsets of them (`stsb:test`)"""
    located: LocatedSets
    tasks: TaskParameters
    encoding: EncodingOptions


def score_baseline(
    name: str,
    baseline: Baseline,
    data: Scoring,
    training_pairs: Table | None = None,
    dimensions: Sequence[int] = (),
) -> Rows:
    """Score one baseline on the named tasks, in a nested MLflow run; see `score_baselines`."""

    def load(encoder: str) -> SentenceTransformer:
        return load_baseline(encoder, baseline, training_pairs, data.encoding.batch_size)

    all_dimensions = (*dimensions, *baseline.dimensions)
    with nested_run(f"{BASELINES}.{name}", baseline.model_dump()) as run_id:
        report = partial(log_scores, run_id)
        columns = baseline.about(name)
        rows, embedding = score_each(load, baseline.name, data, report, all_dimensions, baseline.revision, **columns)
        log_parameters(dotted(embedding, "used"))
    log_rows(f"the baseline {name} ({baseline.name})", rows)
    return rows


def load_baseline(
    name: str, baseline: Baseline, training_pairs: Table | None, batch_size: int | None
) -> SentenceTransformer:
    """Load a baseline; remove its language subspace, fitted on training sentences, if its options say so."""
    from ease.encoders.encoder import load_for_evaluation
    from ease.encoders.encoding import move_to_device
    from ease.encoders.whitening import SENTENCES_PER_LANGUAGE, remove_language_subspace
    from ease.entities.pairs import sample_sentences

    encoder = load_for_evaluation(name, baseline)
    if not baseline.language_rank:
        return encoder
    if training_pairs is None:
        raise EaseError(
            "`language_rank` needs training sentences, and there are none yet: make them by "
            f"{preparation_of('multilingual')}."
        )
    languages = training_pairs.select("language").distinct().order_by("language").to_pandas()["language"]
    sentences = {
        language: sample_sentences(
            training_pairs.filter(training_pairs.language == language), SENTENCES_PER_LANGUAGE, seed=0
        )
        for language in languages
    }
    encoder = move_to_device(encoder)
    remove_language_subspace(encoder, sentences, baseline.language_rank, batch_size)
    return encoder


def score_each(
    load: Callable[[str], SentenceTransformer],
    encoder: str,
    data: Scoring,
    report: Callable[[Sequence[Score], int | None], object],
    dimensions: Sequence[int] = (),
    revision: str | None = None,
    **columns: Any,
) -> tuple[Rows, dict[str, Any]]:
    """Score an encoder on the named tasks whose data can be read, and report its failures.

    A task that fails does not stop the others. Scores that `encoding.cache` has of a stopped run are reused.
    `report` receives the scores of each task as soon as they are computed, with the number of first dimensions that
    they were computed from, or None for all. `dimensions` are further such numbers; the sentences are encoded once.
    `revision` is the one that `load` requests from the hub.

    Returns:
        Rows with the `columns`: scores, those of truncated embeddings with a `dimension`, and a row without a
        value, noted with the reason, for all that could not be scored; how the encoder embeds texts, with its prompts.
    """
    from ease.encoders.encoder import describe_encoder, embedding_dimension
    from ease.encoders.encoding import choose_precision, encode_with, fingerprint, move_to_device

    references = scorable(data.references, data.located)
    unscored = _unreadable(data)
    if not references:
        return [{**columns, **row} for row in unscored], {}
    try:
        model = move_to_device(load(encoder))
    except EaseError as error:
        logger.warning("Not scored: %s", error)
        return [{**columns, **_unscored(None, None, str(error))}], {}
    embedding = describe_encoder(model, encoder, revision)
    # Resolved here, because the rows and the cache of scores name it.
    precision = choose_precision(model, data.encoding)
    encoding = data.encoding.model_copy(update={"precision": precision})
    if precision != "fp32":
        embedding["precision"] = precision
    columns |= embedding
    rows = Rows()
    prompts: dict[str, str] = {}
    score_cache = None
    if encoding.cache:
        score_cache = encoding.cache / f"{fingerprint(model, precision)}.scores"
    full_dimension = embedding_dimension(model)
    shorter = sorted({dimension for dimension in dimensions if dimension < full_dimension}, reverse=True)
    with ExitStack() as stack:
        cache = encoding.cache
        if cache is None and shorter:
            # So that further dimensions do not encode again.
            cache = stack.enter_context(temporary_folder())
        encode = encode_with(model, encoding.model_copy(update={"cache": cache}), source=encoder)
        tasks = select_tasks(references, located_parameters(data.tasks, data.located))
        for name, task in ProgressBar(tasks.items(), desc="tasks", unit="task", delay=2):
            prompts[name] = encode.for_task(name, task.task_type).describe_prompts()
            task_columns = {**columns, "prompt": prompts[name]}
            try:
                for task_rows in _score_task(encode, task, data.located, shorter, score_cache, report):
                    rows += [{**task_columns, **row} for row in task_rows]
            except EaseError as error:
                logger.warning("The task %s could not be scored: %s", name, error)
                unscored.append(_unscored(name, None, str(error)))
    # Whole embeddings first, else in the order of the tasks: the sort is stable.
    rows.sort(key=lambda row: "dimension" in row)
    return [*rows, *({**columns, **row} for row in unscored)], {**embedding, "prompt": prompts}


def _score_task(
    encode: Encode,
    task: Task,
    located: LocatedSets,
    dimensions: Sequence[int],
    cache: Path | None,
    report: Callable[[Sequence[Score], int | None], object],
) -> Iterator[Rows]:
    """Yield the rows of a task by whole embeddings, then by those of each smaller dimension."""
    task_set = located[task.name]
    note = ""
    if task_set.faults:
        note = f"without {', '.join(task_set.faults)}"
    depends_on = _depends_on(task.options, task_set)
    scores = _cached_task_scores(encode, task, cache, depends_on, note)
    report(scores, None)
    items = ""
    if cache:
        items = str(items_file(cache, task.name, depends_on).relative_to(cache.parent))
    yield score_rows(scores, located, items)
    # A task that trains the encoder scores the trained one, of all dimensions.
    if task.TRAINS_ENCODER:
        return
    for dimension in dimensions:
        truncated = Truncated(encode, dimension)
        scores = _cached_task_scores(truncated, task, cache, {**depends_on, "dimension": dimension}, note)
        report(scores, dimension)
        yield score_rows(scores, located, dimension=dimension)


def _cached_task_scores(
    encode: Encode, task: Task, cache: Path | None, depends_on: dict[str, Any], note: str
) -> list[Score]:
    """Return a task's scores from the cache, else computed; the averages have the note about unreadable subsets."""
    scores = cached_scores(cache, task.name, depends_on, partial(score_task, encode, task))
    noted = []
    for score in scores:
        if score.averaged:
            score = replace(score, note=score.note or note)
        noted.append(score)
    return noted


def log_rows(encoder: object, rows: Rows, languages: Sequence[str] = ()) -> None:
    """Log one line for the encoder: its main scores, those of subsets in `languages`, failures, and its prompts."""
    parts = [f"{name} {value:.2f}" for name, value in headline(rows, languages).items()]
    missing = [row for row in rows if row["value"] is None and row["task"]]
    if missing:
        names = (" ".join(filter(None, (row["task"], row["subset"]))) for row in missing)
        parts.append(f"not scored: {' and '.join(names)}")
    if parts:
        prompts = {row["task"]: row["prompt"] for row in rows if row.get("prompt") is not None}
        parts.append(f"prompts: {summarize_prompts(prompts)}")
        logger.info("Scored %s: %s", encoder, ", ".join(parts))


def _unscored(task: str | None, subset: str | None, note: str) -> dict[str, Any]:
    return {"task": task, "subset": subset, "value": None, "note": note}


def _unreadable(data: Scoring) -> Rows:
    """Return the named subsets whose files exist but cannot be read."""
    return [
        _unscored(name, subset, fault)
        for name, task_set in data.located.items()
        for subset, fault in task_set.faults.items()
        if {name, f"{name}:{subset}"} & set(data.references)
    ]


def _depends_on(options: Any, task_set: LocatedSet) -> dict[str, Any]:
    """Return what the scores of a task depend on, except for the encoder and the number of its dimensions."""
    return {
        # The set's versions stand for the path, which is another one on each machine.
        "options": options.model_dump(mode="json", exclude={"path"}),
        "data": {subset: task_set.version(subset) for subset in task_set.subsets},
        "libraries": [version(name) for name in ("numpy", "scikit-learn", "scipy")],
    }


def score_all(encoder: Path, data: Scoring) -> list[Score]:
    """Score a saved encoder on the named tasks whose data can be read; raise if one of them fails."""
    from ease.encoders.encoder import load_encoder

    scores = list[Score]()
    rows, _ = score_each(load_encoder, str(encoder), data, lambda task_scores, _: scores.extend(task_scores))
    log_rows(encoder, rows)
    reasons = [row["note"] for row in rows if row["value"] is None and row["subset"] is None]
    if reasons:
        raise EaseError(reasons[0])
    return scores


def score_rows(scores: Sequence[Score], located: LocatedSets, items: str = "", **columns: Any) -> Rows:
    """Return a task's scores as rows with the versions of model, data and code, and the file of their items."""
    return [
        {
            **columns,
            **score.row(),
            "data": located[score.task].version(score.subset),
            "code": scoring_version(),
            "items": items,
        }
        for score in scores
    ]
