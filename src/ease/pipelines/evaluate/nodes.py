"""Score the encoders of a setting and the baselines on their evaluation tasks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ease.encoders.options import EncodingOptions
from ease.evaluation.sets import read_located
from ease.lazy import Table
from ease.options import Rows
from ease.pipelines.options import EvaluateOptions
from ease.pipelines.setting import Setting
from ease.pipelines.tracked_scoring import Scoring, log_rows, score_baseline, score_each
from ease.pipelines.tracking import (
    add_scores,
    add_to_card,
    origin_of,
)

logger = logging.getLogger(__name__)
MAX_HEADLINE_LANGUAGES = 4
"""Up to this many languages of a setting, their own scores are logged beside averages."""


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
    references = evaluate.references(setting.test_tasks, tasks)
    data = Scoring(references, read_located(evaluation_data), tasks, encoding)
    # It names the dimensions that `matryoshka` has trained.
    origin = origin_of(encoder)
    dimensions = (*evaluate.dimensions, *origin.pop("dimensions", ()))
    columns = {"setting": setting.name, "model": encoder.parent.name, **origin}
    report = partial(add_scores, encoder, located=data.located)
    rows, _ = score_each(load_encoder, str(encoder), data, report, dimensions, **columns)
    headline_languages: Sequence[str] = ()
    if len(setting.languages) <= MAX_HEADLINE_LANGUAGES:
        headline_languages = setting.languages
    log_rows(encoder, rows, headline_languages)
    add_to_card(encoder, rows, headline_languages, setting.dev_tasks)
    return rows


def score_baselines(
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    encoding: EncodingOptions,
    training_pairs: Table | None,
    multilingual: Setting,
    monolingual: Setting,
) -> Rows:
    """Score the encoders that the parameters name, each in its own nested MLflow run.

    Rows without a value name what could not be scored.
    """
    located = read_located(evaluation_data)
    rows = Rows()
    for name, references in evaluate.baseline_references([multilingual, monolingual], tasks).items():
        data = Scoring(references, located, tasks, encoding)
        rows += score_baseline(name, evaluate.baselines[name], data, training_pairs, evaluate.dimensions)
    return rows
