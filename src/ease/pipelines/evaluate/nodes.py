"""Nodes of `evaluate`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import TaskOptions
from ease.evaluation.sets import Located, read_located
from ease.io.lazy import ibis
from ease.io.models import dotted
from ease.io.names import BASELINES, PREPARATION
from ease.pipelines.evaluate.options import Baseline, EvaluateOptions, all_test_tasks
from ease.pipelines.evaluate.scoring import score_each
from ease.pipelines.mlflow_runs import (
    add_scores,
    add_to_card,
    log_parameters,
    log_scores,
    nested_run,
    origin_of,
)
from ease.pipelines.setting import Setting

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)

Rows = list[dict[str, Any]]


def score_encoder(
    encoder: Path | None,
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    setting: Setting,
    evaluate: EvaluateOptions,
    encoding: EncodingOptions,
) -> Rows:
    """Score a saved encoder on the setting's test tasks, and add the scores to its card and to its MLflow run.

    Rows without a value name what could not be scored. An encoder that is not trained yet gives no rows.
    """
    from ease.encoders.encoder import load_encoder

    if encoder is None:
        logger.debug("An encoder of the setting %s is not trained yet: nothing to score", setting.name)
        return []
    located, origin = read_located(evaluation_data), origin_of(encoder)
    references = evaluate.references(setting.test_tasks)
    dimensions = (*evaluate.dimensions, *origin.pop("dimensions", ()))
    report = partial(add_scores, encoder)
    scored = score_each(load_encoder, str(encoder), references, located, tasks, encoding, report, dimensions)
    scored.log(encoder, setting.languages)
    rows = scored.rows(located, setting=setting.name, model=encoder.parent.name, **origin)
    add_to_card(encoder, rows)
    return rows


def score_baselines(
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    encoding: EncodingOptions,
    training_pairs: ibis.Table | None,
    **settings: Setting,
) -> Rows:
    """Score the encoders that the parameters name, each in its own nested MLflow run.

    Rows without a value name what could not be scored.
    """
    located = read_located(evaluation_data)
    test_tasks = all_test_tasks(*settings.values())
    rows = Rows()
    for name, baseline in evaluate.baselines.items():
        references = evaluate.baseline_references(name, test_tasks)
        own = (name, baseline, references, located, tasks, encoding)
        rows += score_baseline(*own, training_pairs, evaluate.dimensions)
    return rows


def score_baseline(
    name: str,
    baseline: Baseline,
    references: Sequence[str],
    located: Located,
    tasks: TaskOptions,
    encoding: EncodingOptions,
    training_pairs: ibis.Table | None = None,
    dimensions: Sequence[int] = (),
) -> Rows:
    """Score one baseline on the named tasks, in a nested MLflow run.

    Rows without a value name what could not be scored.
    """

    def load(encoder: str) -> SentenceTransformer:
        return load_baseline(encoder, baseline, training_pairs, encoding.batch_size)

    lengths, given = (*dimensions, *baseline.dimensions), (references, located, tasks, encoding)
    with nested_run(f"{BASELINES}.{name}", baseline.model_dump()) as run_id:
        report = partial(log_scores, run_id)
        scored = score_each(load, baseline.name, *given, report, lengths, baseline.revision)
        log_parameters(dotted({**scored.used, "prompt": scored.prompts}, "used"))
    scored.log(f"the baseline {name} ({baseline.name})")
    return scored.rows(located, **about_baseline(name, baseline))


def load_baseline(
    name: str, baseline: Baseline, training_pairs: ibis.Table | None, batch_size: int | None
) -> SentenceTransformer:
    """Load a baseline; remove its language subspace, fitted on training sentences, if its options say so."""
    from ease.encoders.encoder import load_for_evaluation
    from ease.encoders.encoding import place
    from ease.encoders.whitening import remove_language_subspace

    encoder = load_for_evaluation(name, baseline)
    if baseline.language_rank:
        encoder = place(encoder)
        sentences = _sentences_by_language(training_pairs)
        remove_language_subspace(encoder, sentences, baseline.language_rank, batch_size)
    return encoder


def _sentences_by_language(training_pairs: ibis.Table | None) -> dict[str, Iterator[str]]:
    """Return distinct training sentences of each language, in an order that depends on the sentences only."""
    from ease.encoders.whitening import SENTENCES_PER_LANGUAGE
    from ease.entities.links import distinct_sentences

    if training_pairs is None:
        raise EaseError(
            "`language_rank` needs training sentences, and there are none yet: make them by "
            f"`kedro run --pipelines=train_multilingual --tags={PREPARATION}`."
        )
    languages = training_pairs.select("language").distinct().order_by("language").to_pandas()["language"]
    return {
        language: distinct_sentences(
            training_pairs.filter(training_pairs.language == language), SENTENCES_PER_LANGUAGE, seed=0
        )
        for language in languages
    }


def about_baseline(name: str, baseline: Baseline) -> dict[str, Any]:
    """Return the columns that describe a baseline's encoder in its rows of scores."""
    about = {"setting": BASELINES, "method": name, "model": baseline.name, "base": baseline.name}
    return {**about, "pooling": baseline.pooling or "mean"}
