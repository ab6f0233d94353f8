"""Score one encoder task by task; keep every score that can be computed and report the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.encodes import Truncated
from ease.evaluation.score_cache import cached_scores, items_file
from ease.evaluation.scoring import TaskOptions, chosen_tasks, has_languages, score_task, task_options
from ease.evaluation.sets import Located, LocatedSet, at_paths, scorable
from ease.evaluation.tasks import Score, get_task
from ease.io.locks import temporary_folder
from ease.io.result_versions import code_version

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)


FEW = 4
"""Languages whose own scores are logged"""


class Unscored(NamedTuple):
    """Something that could not be scored."""

    task: str | None
    """None: the encoder itself failed"""
    subset: str | None
    """None: all subsets of the task"""
    reason: str


Report = Callable[[Sequence[Score], int | None], None]
"""Receives scores, and the number of first dimensions that they were computed from; None: all dimensions."""


class Scored(NamedTuple):
    """The result of scoring an encoder."""

    scores: list[Score]
    unscored: list[Unscored]
    truncated: list[tuple[int, Score]]
    """Scores of truncated embeddings, by their number of dimensions"""
    used: dict[str, Any]
    """How the encoder embeds texts, for the rows of its scores"""
    prompts: dict[str, str]
    """The texts before sentences, by task"""
    items: dict[str, str]
    """The file of each task's items, below the folder of the cache; empty without a cache."""

    def rows(self, located: Located, **about: Any) -> list[dict[str, Any]]:
        """Return scores as rows; a row without a value, noted with the reason, for everything unscored.

        Rows of truncated embeddings have their number of dimensions as `dimension`.
        """
        about |= self.used
        rows = score_rows(self.scores, located, self.items, **about)
        for dimension, score in self.truncated:
            rows += [{**row, "dimension": dimension} for row in score_rows([score], located, **about)]
        rows = [{**row, "prompt": self.prompts.get(row["task"], "")} for row in rows]
        return rows + [
            {**about, "task": line.task, "subset": line.subset, "value": None, "note": line.reason}
            for line in self.unscored
        ]

    def log(self, encoder: object, languages: Sequence[str] = ()) -> None:
        """Log one line for the encoder: its main scores, and what could not be scored.

        A few `languages`, which the encoder was trained for, are shown beside the averages over more.
        """
        main = [score for score in self.scores if score.metric == get_task(score.task).METRIC]
        averaged = {score.task for score in main if score.averaged}
        few = languages if len(languages) <= FEW else ()
        shown = [
            score
            for score in main
            if score.averaged or score.task not in averaged or all(has_languages(score.subset, few))
        ]
        parts = [f"{score.task} {score.subset} {score.value:.2f} {score.note}".strip() for score in shown]
        missing = [" ".join(filter(None, (line.task, line.subset))) for line in self.unscored if line.task]
        if missing:
            parts.append(f"not scored: {' and '.join(missing)}")
        if parts:
            logger.info("Scored %s: %s", encoder, ", ".join(parts))


def score_each(
    load: Callable[[str], SentenceTransformer],
    encoder: str,
    references: Sequence[str],
    located: Located,
    tasks: TaskOptions,
    encoding: EncodingOptions,
    report: Report = lambda scores, dimension: None,
    dimensions: Sequence[int] = (),
    revision: str | None = None,
) -> Scored:
    """Score an encoder on the named tasks whose data can be read.

    A task that fails is reported, and the other tasks are scored. An encoder that does not load is reported as well.

    Args:
        load: Loads the encoder.
        encoder: Its folder, file or hub name.
        references: Tasks, or single subsets of them.
        located: The located set of each task.
        tasks: Each task's options by its name.
        encoding: Batch size and cache; cached scores of a stopped run are reused.
        report: Called with the scores of each task as soon as they are computed.
        dimensions: Numbers of first dimensions to score in addition; the sentences are encoded once.
        revision: The revision that `load` requests from the hub.
    """
    from ease.encoders.encoder import describe_encoder, embedding_dimension
    from ease.encoders.encoding import encode_with, fingerprint, place

    there = scorable(references, located)
    scored = Scored([], _unreadable(references, located), [], {}, {}, {})
    if not there:
        if not scored.unscored:
            _log_no_data(", ".join(references) or "no task")
        return scored
    try:
        model = place(load(encoder))
    except EaseError as error:
        logger.warning("Not scored: %s", error)
        return scored._replace(unscored=[Unscored(None, None, str(error))])
    scored.used.update(describe_encoder(model, encoder, revision))
    if encoding.precision != "fp32":
        scored.used["precision"] = encoding.precision
    cache = encoding.cache and encoding.cache / f"{fingerprint(model, encoding.precision)}.scores"
    shorter = _shorter(dimensions, embedding_dimension(model), encoder)
    with ExitStack() as stack:
        # Several dimensions need one encoding.
        kept = encoding.cache or (stack.enter_context(temporary_folder()) if shorter else None)
        encode = encode_with(model, encoding.model_copy(update={"cache": kept}), source=encoder)
        for name, options in chosen_tasks(there, at_paths(tasks, located)).items():
            task, found = get_task(name), located[name]
            scored.prompts[name] = encode.for_task(name, task.KIND).describe_prompts()
            for dimension in (None, *(() if task.TRAINS_ENCODER else shorter)):
                own = encode if dimension is None else Truncated(encode, dimension)
                try:
                    validated = task_options(name, {name: options})
                    depends_on = _depends_on(validated, found, dimension)
                    compute = partial(score_task, own, name, validated)
                    scores: Sequence[Score] = cached_scores(cache, name, depends_on, compute)
                except EaseError as error:
                    logger.warning("The task %s could not be scored: %s", name, error)
                    scored.unscored.append(Unscored(name, None, str(error)))
                    break
                scores = _noted(scores, found)
                report(scores, dimension)
                if dimension is not None:
                    scored.truncated.extend((dimension, one) for one in scores)
                    continue
                scored.scores.extend(scores)
                if cache is not None and encoding.cache is not None:
                    items = items_file(cache, name, depends_on)
                    scored.items[name] = str(items.relative_to(encoding.cache))
    return scored


@cache
def _log_no_data(references: str) -> None:
    """Log it once for all encoders."""
    logger.warning("Nothing to score: there are no data of %s", references)


def _shorter(dimensions: Sequence[int], full: int, encoder: str) -> list[int]:
    """Return the numbers of dimensions below the encoder's own, descending; warn of the others."""
    if above := [dimension for dimension in dimensions if dimension > full]:
        logger.warning(
            "%s has %d dimensions and is not scored at %s: set `dimensions` to numbers below %d",
            *(encoder, full, ", ".join(map(str, above)), full),
        )
    return sorted({dimension for dimension in dimensions if dimension < full}, reverse=True)


def score_all(
    encoder: Path, references: Sequence[str], located: Located, tasks: TaskOptions, encoding: EncodingOptions
) -> list[Score]:
    """Score a saved encoder on the named tasks whose data can be read."""
    from ease.encoders.encoder import load_encoder

    scored = score_each(load_encoder, str(encoder), references, located, tasks, encoding)
    scored.log(encoder)
    unreadable = _unreadable(references, located)
    if failed := [line for line in scored.unscored if line not in unreadable]:
        raise EaseError(failed[0].reason)
    return scored.scores


def _unreadable(references: Sequence[str], located: Located) -> list[Unscored]:
    """Return the named subsets whose files exist but cannot be read."""
    named = {(name, subset) for name, _, subset in (reference.partition(":") for reference in references)}
    return [
        Unscored(name, subset, fault)
        for name, found in located.items()
        for subset, fault in found.faults.items()
        if {(name, ""), (name, subset)} & named
    ]


def _depends_on(options: Any, found: LocatedSet, dimension: int | None) -> dict[str, Any]:
    """Return what the scores of a task depend on, except for the encoder."""
    return {
        "options": options.model_dump(mode="json", exclude={"path"}),
        "data": {subset: found.version(subset) for subset in found.subsets},
        "code": code_version(),
        "libraries": [version(name) for name in ("numpy", "scikit-learn", "scipy")],
        **({} if dimension is None else {"dimension": dimension}),
    }


def _noted(scores: Sequence[Score], found: LocatedSet) -> Sequence[Score]:
    """Note at averages which subsets they lack."""
    if not found.faults:
        return scores
    note = f"without {', '.join(found.faults)}"
    return [replace(score, note=score.note or note) if score.averaged else score for score in scores]


def score_rows(
    scores: Sequence[Score], located: Located, items: Mapping[str, str] | None = None, **about: Any
) -> list[dict[str, Any]]:
    """Return scores as rows with the versions of model, data and code, and the file of their items."""
    return [
        {
            **about,
            **score.row(),
            "data": located[score.task].version(score.subset),
            "code": code_version(),
            "items": (items or {}).get(score.task, ""),
        }
        for score in scores
    ]
