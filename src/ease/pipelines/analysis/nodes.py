"""Nodes of `analysis`."""

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
from ease.evaluation.analysis.alignment_uniformity import AlignmentOptions, compare_alignment_uniformity
from ease.evaluation.analysis.cosine_distributions import CosineOptions, compare_cosines, summarize_cosines
from ease.evaluation.analysis.differing_pairs import DifferingOptions, differing_pairs
from ease.evaluation.analysis.isotropy import IsotropyOptions, compare_isotropy
from ease.evaluation.analysis.language_identity import LanguageIdentityOptions, compare_language_identity
from ease.evaluation.analysis.projection import ProjectionOptions, project_parallel
from ease.evaluation.analysis.sentence_pairs import graded_pairs, parallel_sentences
from ease.evaluation.scoring import chosen_tasks, task_name, task_options
from ease.evaluation.sets import at_paths, read_located
from ease.evaluation.tasks import Encode
from ease.evaluation.tasks.components.graded_pairs import GradedPair
from ease.pipelines.mlflow_runs import log_plot, log_table
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_alignment_uniformity, plot_cosine_distributions, plot_language_pair

logger = logging.getLogger(__name__)

Configured = dict[str, dict[str, Any]]

SHOWN_CHARACTERS = 60
"""Of a sentence in the log; the saved table has all."""


def measure_alignment_uniformity(
    evaluation_data: dict[str, Any],
    tasks: Configured,
    encoding: EncodingOptions,
    options: AlignmentOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Measure alignment and uniformity of the setting's encoders, as a table and as a plot.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        encoding: Batch size and cache.
        options: What is measured.
        encoders: Folders by their methods' names; None where there is none yet.
    """
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    table = compare_alignment_uniformity(_encode_each(encoders, encoding), sets, options)
    figure = plot_alignment_uniformity(table)
    logger.info(
        "Alignment (pairs graded above %g) and uniformity on %s, lower is better:\n%s",
        *(options.above, options.graded, format_table(table, decimals=3)),
    )
    log_table(table, "alignment_uniformity")
    log_plot(figure, "alignment_uniformity")
    return table, figure


def find_differing_pairs(
    evaluation_data: dict[str, Any],
    tasks: Configured,
    encoding: EncodingOptions,
    options: DifferingOptions,
    **encoders: Path | None,
) -> pd.DataFrame:
    """Find the graded pairs on which two models differ most, for better and for worse.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        encoding: Batch size and cache.
        options: Which two models; others than the setting's are loaded from their folders or the hub.
        encoders: Folders by their methods' names; None where there is none yet.

    Raises:
        EaseError: If one of the two has not been trained yet, or does not load.
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
    evaluation_data: dict[str, Any],
    tasks: Configured,
    encoding: EncodingOptions,
    options: ProjectionOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Bring the sentences of a language pair into the plane, a panel for each of the setting's encoders.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        encoding: Batch size and cache.
        options: Which sentences, and how they are projected.
        encoders: Folders by their methods' names; None where there is none yet.
    """
    name, _, subset = options.parallel.partition(":")
    sentences = parallel_sentences(name, _located_options(name, evaluation_data, tasks), subset)
    table = project_parallel(_encode_each(encoders, encoding), sentences, options)
    figure = plot_language_pair(table)
    logger.info(
        "%d sentences of %s in the plane (%s), with their translations",
        *(options.sentences, options.parallel, options.method),
    )
    log_table(table, "language_pair")
    log_plot(figure, "language_pair")
    return table, figure


def measure_isotropy(
    evaluation_data: dict[str, Any],
    tasks: Configured,
    encoding: EncodingOptions,
    options: IsotropyOptions,
    **encoders: Path | None,
) -> pd.DataFrame:
    """Measure how evenly the embeddings of the setting's encoders spread over all directions.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        encoding: Batch size and cache.
        options: Which sentences.
        encoders: Folders by their methods' names; None where there is none yet.
    """
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    table = compare_isotropy(_encode_each(encoders, encoding), sets, options)
    logger.info(
        "Isotropy (1 is the best) and length of the mean vector (0 is the best) on %s:\n%s",
        *(options.graded, format_table(table, decimals=3)),
    )
    log_table(table, "isotropy")
    return table


def plot_cosines(
    evaluation_data: dict[str, Any],
    tasks: Configured,
    encoding: EncodingOptions,
    options: CosineOptions,
    **encoders: Path | None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Show how the cosines of positive and of negative pairs are distributed by each of the setting's encoders.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        encoding: Batch size and cache.
        options: Which pairs.
        encoders: Folders by their methods' names; None where there is none yet.
    """
    sets = _graded_sets(options.graded, evaluation_data, tasks)
    table = compare_cosines(_encode_each(encoders, encoding), sets, options)
    summary = summarize_cosines(table)
    figure = plot_cosine_distributions(table, summary)
    logger.info(
        "Cosines of pairs of %s graded above %g and below %g, and how well they are told apart:\n%s",
        *(options.graded, options.above, options.below, format_table(summary, decimals=3)),
    )
    log_table(summary, "cosine_distributions")
    log_plot(figure, "cosine_distributions")
    return table, figure


def measure_language_identity(
    evaluation_data: dict[str, Any],
    tasks: Configured,
    encoding: EncodingOptions,
    options: LanguageIdentityOptions,
    **encoders: Path | None,
) -> pd.DataFrame:
    """Measure how well a linear classifier tells the languages of embeddings by the setting's encoders.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        encoding: Batch size and cache.
        options: Languages, sentences and classifier.
        encoders: Folders by their methods' names; None where there is none yet.
    """
    name = options.parallel
    task = _located_options(name, evaluation_data, tasks)
    parallel = [parallel_sentences(name, task, pair) for pair in options.pairs]
    table = compare_language_identity(_encode_each(encoders, encoding), parallel, options)
    logger.info(
        "Accuracy of a classifier of languages on %s; nearer to chance is more neutral:\n%s",
        *(options.parallel, format_table(table)),
    )
    log_table(table, "language_identity")
    return table


def _located_options(reference: str, evaluation_data: Mapping[str, Any], tasks: Configured) -> BaseModel:
    """The options of a task, or of one subset of it, with the path at which its data were located."""
    name = task_name(reference)
    located = read_located(evaluation_data)
    if name not in located:
        raise EaseError(
            f"The analysis reads {reference}, but the evaluation data of this run are {', '.join(sorted(located))}: "
            "choose among them, or name the task in the setting's `test_tasks` and run `acquire_evaluation` again."
        )
    paths = at_paths(tasks, {name: located[name]})
    return task_options(name, chosen_tasks([reference], paths))


def _graded_sets(
    reference: str, evaluation_data: Mapping[str, Any], tasks: Configured
) -> dict[str, list[GradedPair]]:
    return graded_pairs(task_name(reference), _located_options(reference, evaluation_data, tasks))


def _encode_each(encoders: Mapping[str, Path | None], encoding: EncodingOptions) -> dict[str, Encode]:
    """The encoders that have been made.

    Raises:
        EaseError: If there is none.
    """
    from ease.encoders.encoding import encode_with

    made = {name: folder for name, folder in encoders.items() if folder is not None}
    if not made:
        raise EaseError("This setting has no encoder to analyse yet: run its training first.")
    return {name: encode_with(folder, encoding, name) for name, folder in made.items()}


def _encode_named(name: str, encoders: Mapping[str, Path | None], encoding: EncodingOptions) -> Encode:
    """One of the setting's encoders, or any other by its folder or hub name."""
    from ease.encoders.encoder import load_encoder
    from ease.encoders.encoding import best_device, encode_with

    if name not in encoders:
        return encode_with(load_encoder(name).to(best_device()), encoding, source=name)
    folder = encoders[name]
    if folder is None:
        raise EaseError(
            f"The encoder {name!r} has not been trained yet: train it, or name another `model` or `baseline` in the "
            "parameters of `differing_pairs`."
        )
    return encode_with(folder, encoding)
