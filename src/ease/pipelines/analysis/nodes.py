"""Nodes of `analysis`: each compares the setting's encoders by one measure.

All nodes share these arguments:

- evaluation_data: the located evaluation sets
- tasks: the options of each task, by its name
- encoding: batch size and cache
- options: what the analysis measures
- encoders: folders by the names of their methods; None if a method is not trained yet
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from pydantic import BaseModel

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.analysis.graded import (
    AlignmentOptions,
    CosineOptions,
    CurveOptions,
    DifferingOptions,
    GivenPairsOptions,
    GradedSets,
    IsotropyOptions,
    compare_alignment_uniformity,
    compare_cosines,
    compare_given_pairs,
    compare_isotropy,
    differing_pairs,
    graded_pairs,
    parallel_sentences,
    roc_curves,
    summarize_cosines,
)
from ease.evaluation.analysis.languages import (
    LanguageIdentityOptions,
    ProjectionOptions,
    compare_language_identity,
    project_parallel,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.scoring import chosen_tasks, task_name, task_options
from ease.evaluation.sets import at_paths, read_located
from ease.methods import in_order
from ease.pipelines.mlflow_runs import log_plot, log_table
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import (
    plot_alignment_uniformity,
    plot_cosine_distributions,
    plot_language_pair,
    plot_roc_curves,
)

logger = logging.getLogger(__name__)

Located = dict[str, Any]
Configured = dict[str, dict[str, Any]]

SHOWN_CHARACTERS = 60
"""Maximum length of a sentence in the log; the saved table has complete sentences."""


def measure_alignment_uniformity(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: AlignmentOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Measure alignment and uniformity (Wang and Isola, 2020), as a table and as a plot."""
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    table = compare_alignment_uniformity(_encode_each(encoders, encoding), sets, options)
    caption = f"Alignment (pairs graded above {options.above:g}) and uniformity on {options.graded}, lower is better"
    _log(table, caption, "alignment_uniformity", decimals=3)
    return table, _plotted(plot_alignment_uniformity(table), "alignment_uniformity")


def find_differing_pairs(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: DifferingOptions,
    **encoders: Path | None,
) -> pd.DataFrame:
    """Find the graded pairs on which two models differ most, in both directions.

    A model that is not one of the setting's encoders is loaded from its folder or the hub.
    """
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    compared = {name: _encode_named(name, encoders, encoding) for name in (options.model, options.baseline)}
    table = differing_pairs(compared, sets, options.rows)
    shown = table[[name for name in table.columns if not name.endswith("_cosine")]].copy()
    for side in ("sentence1", "sentence2"):
        shown[side] = [textwrap.shorten(text, SHOWN_CHARACTERS, placeholder=" …") for text in shown[side]]
    logger.info(
        "Pairs of %s whose rank by %s is nearer to gold than by %s (improved), and farther (deteriorated); ranks run "
        "from 0, the least alike, to 100:\n%s",
        *(options.graded, options.model, options.baseline, format_table(shown)),
    )
    log_table(table, "differing_pairs")
    return table


def project_language_pair(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: ProjectionOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Project the sentences of a language pair into two dimensions, one panel for each encoder."""
    name, _, subset = options.parallel.partition(":")
    sentences = parallel_sentences(name, _located_options(name, evaluation_data, tasks), subset)
    table = project_parallel(_encode_each(encoders, encoding), sentences, options)
    logger.info(
        "%d sentences of %s and their translations in two dimensions (%s)",
        *(options.sentences, options.parallel, options.method),
    )
    log_table(table, "language_pair")
    return table, _plotted(plot_language_pair(table), "language_pair")


def measure_isotropy(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: IsotropyOptions,
    **encoders: Path | None,
) -> pd.DataFrame:
    """Measure how evenly embeddings spread over all directions."""
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    table = compare_isotropy(_encode_each(encoders, encoding), sets, options)
    caption = f"Isotropy (1 is best) and length of the mean vector (0 is best) on {options.graded}"
    return _log(table, caption, "isotropy", decimals=3)


def plot_cosines(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: CosineOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Plot the distributions of the cosines of positive and of negative pairs."""
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    table = compare_cosines(_encode_each(encoders, encoding), sets, options)
    bounds = f"graded above {options.above:g} and below {options.below:g}"
    caption = f"Cosines of pairs of {options.graded} {bounds}, and how well they separate"
    summary = _log(summarize_cosines(table), caption, "cosine_distributions", decimals=3)
    return table, _plotted(plot_cosine_distributions(table, summary), "cosine_distributions")


def draw_roc_curves(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: CurveOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Draw the ROC curves of the cosines of positive and negative pairs."""
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    further = {title: _encode_named(name, {}, encoding) for title, name in options.further.items()}
    table = roc_curves(_encode_each(encoders, encoding) | further, sets, options)
    areas = table.groupby("model", sort=False)["auc"].first().reset_index()
    _log(areas, f"Area under the ROC curve of the cosines of {options.graded}", "roc_curves", decimals=3)
    return table, _plotted(plot_roc_curves(table), "roc_curves")


def measure_language_identity(
    evaluation_data: Located,
    tasks: Configured,
    encoding: EncodingOptions,
    options: LanguageIdentityOptions,
    **encoders: Path | None,
) -> pd.DataFrame:
    """Measure how well a linear classifier predicts the language of a sentence from its embedding."""
    name = options.parallel
    task = _located_options(name, evaluation_data, tasks)
    parallel = {code: parallel_sentences(name, task, pair) for code, pair in options.pairs.items()}
    table = compare_language_identity(_encode_each(encoders, encoding), parallel, options)
    caption = f"Accuracy of a classifier of languages on {name}; nearer to chance is more neutral"
    return _log(table, caption, "language_identity")


def compare_pairs(
    encoding: EncodingOptions, options: GivenPairsOptions, **encoders: Path | None
) -> pd.DataFrame:
    """Compute the cosines of the sentence pairs that the parameters give; it reads no evaluation data."""
    table = compare_given_pairs(_encode_each(encoders, encoding), options)
    return _log(table, "Cosines of the given pairs", "given_pairs", decimals=4)


def _log(table: pd.DataFrame, caption: str, name: str, **form: Any) -> pd.DataFrame:
    """Log a table to the console and, under a name, to MLflow."""
    logger.info("%s:\n%s", caption, format_table(table, **form))
    log_table(table, name)
    return table


def _plotted(figure: go.Figure, name: str) -> go.Figure:
    log_plot(figure, name)
    return figure


def _located_options(reference: str, evaluation_data: Located, tasks: Configured) -> BaseModel:
    """Return the options of a task, or of one of its subsets, with the located path of its data."""
    name = task_name(reference)
    located = read_located(evaluation_data)
    if name not in located:
        raise EaseError(
            f"The analysis reads {reference}, but the evaluation data of this run are {', '.join(sorted(located))}: "
            "choose among them, or name the task in the setting's `test_tasks` and run `acquire_evaluation` again."
        )
    paths = at_paths(tasks, {name: located[name]})
    return task_options(name, chosen_tasks([reference], paths))


def _graded_sets(reference: str, evaluation_data: Located, tasks: Configured) -> GradedSets:
    return graded_pairs(task_name(reference), _located_options(reference, evaluation_data, tasks))


def _encode_each(encoders: Mapping[str, Path | None], encoding: EncodingOptions) -> dict[str, Encode]:
    """Load the trained encoders."""
    from ease.encoders.encoding import encode_with

    trained = {name: folder for name in in_order(encoders) if (folder := encoders[name]) is not None}
    if not trained:
        raise EaseError("This setting has no encoder to analyse yet: run its training first.")
    return {name: encode_with(folder, encoding, name) for name, folder in trained.items()}


def _encode_named(name: str, encoders: Mapping[str, Path | None], encoding: EncodingOptions) -> Encode:
    """Load one of the setting's encoders, or another one by its folder or hub name."""
    from ease.encoders.encoder import load_encoder
    from ease.encoders.encoding import encode_with, place

    if name not in encoders:
        return encode_with(place(load_encoder(name)), encoding, source=name)
    folder = encoders[name]
    if folder is None:
        raise EaseError(
            f"The encoder {name!r} has not been trained yet: train it, or name another `model` or `baseline` in the "
            "parameters of `differing_pairs`."
        )
    return encode_with(folder, encoding)
