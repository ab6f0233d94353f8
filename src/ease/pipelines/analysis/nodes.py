"""Compare a setting's encoders, each node by one measure."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.analysis.graded import (
    AlignmentOptions,
    CosineOptions,
    CurveOptions,
    DifferingOptions,
    GivenPairsOptions,
    GradedOptions,
    GradedSets,
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
from ease.evaluation.scoring import select_tasks, task_name
from ease.evaluation.sets import located_parameters, read_located
from ease.evaluation.tasks import TaskParameters
from ease.evaluation.tasks.base import Task
from ease.lazy import DataFrame, Figure
from ease.methods import in_order
from ease.pipelines.tracking import log_plot, log_table
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import (
    plot_alignment_uniformity,
    plot_cosine_distributions,
    plot_language_pair,
    plot_roc_curves,
)
from ease.similarity.encode import Encode

logger = logging.getLogger(__name__)

Plotted = tuple["DataFrame", "Figure"]


class Compared:
    """A setting's encoders, by the names of their methods, and located evaluation sets."""

    def __init__(
        self,
        encoders: Mapping[str, Path | None],
        encoding: EncodingOptions,
        evaluation_data: Mapping[str, Any] | None = None,
        tasks: TaskParameters | None = None,
    ) -> None:
        self.encoders = encoders
        self.encoding = encoding
        self.evaluation_data = evaluation_data or {}
        self.tasks = tasks or {}

    def task(self, reference: str) -> Task:
        """Return a task, or one of its subsets, with the located path of its data."""
        name = task_name(reference)
        located = read_located(self.evaluation_data)
        if name not in located:
            raise EaseError(
                f"The analysis reads {reference}, but the evaluation data of this run are "
                f"{', '.join(sorted(located))}: choose among them, or name the task in the setting's `test_tasks` and "
                "run `acquire_evaluation` again."
            )
        parameters = located_parameters(self.tasks, {name: located[name]})
        return select_tasks([reference], parameters)[name]

    def graded(self, reference: str) -> GradedSets:
        """Return the graded pairs of a task or subset."""
        return graded_pairs(self.task(reference))

    def encode(self) -> dict[str, Encode]:
        """Load the trained encoders."""
        from ease.encoders.encoding import encode_with

        trained = {name: folder for name in in_order(self.encoders) if (folder := self.encoders[name])}
        if not trained:
            raise EaseError("This setting has no encoder to analyse yet: train one first.")
        # The order of methods, in which tables and plots list them.
        return {name: encode_with(folder, self.encoding, name) for name, folder in trained.items()}

    def encode_by(self, name: str) -> Encode:
        """Load an encoder by its folder or hub name, or one of the setting's by that of its method."""
        from ease.encoders.encoder import load_encoder
        from ease.encoders.encoding import encode_with, move_to_device

        if name not in self.encoders:
            return encode_with(move_to_device(load_encoder(name)), self.encoding, source=name)
        folder = self.encoders[name]
        if folder is None:
            raise EaseError(f"The encoder {name!r} has not been trained yet: train it, or name another one.")
        return encode_with(folder, self.encoding)


def measure_alignment_uniformity(
    options: AlignmentOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> Plotted:
    """Measure alignment and uniformity (Wang and Isola, 2020), as a table and as a plot."""
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    table = compare_alignment_uniformity(compared.encode(), compared.graded(options.graded), options)
    caption = f"Alignment (pairs graded above {options.above:g}) and uniformity on {options.graded}, lower is better"
    _log(table, caption, "alignment_uniformity", decimals=3)
    return table, _plotted(plot_alignment_uniformity(table), "alignment_uniformity")


def find_differing_pairs(
    options: DifferingOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> DataFrame:
    """Find the graded pairs on which two models differ most, in both directions.

    A model that is not one of the setting's encoders is loaded from its folder or the hub.
    """
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    sets = compared.graded(options.graded)
    compared_two = {name: compared.encode_by(name) for name in (options.model, options.baseline)}
    table = differing_pairs(compared_two, sets, options.rows)
    caption = (
        f"Pairs of {options.graded} whose rank by {options.model} is nearer to gold than by {options.baseline} "
        "(improved), and farther (deteriorated); ranks run from 0, the least alike, to 100"
    )
    return _log(table, caption, "differing_pairs")


def project_language_pair(
    options: ProjectionOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> Plotted:
    """Project the sentences of a language pair into two dimensions, one panel for each encoder."""
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    name, _, subset = options.parallel.partition(":")
    table = project_parallel(compared.encode(), parallel_sentences(compared.task(name), subset), options)
    log_table(table, "language_pair")
    return table, _plotted(plot_language_pair(table), "language_pair")


def measure_isotropy(
    options: GradedOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> DataFrame:
    """Measure how evenly embeddings spread over all directions."""
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    sets = compared.graded(options.graded)
    caption = f"Isotropy (1 is best) and length of the mean vector (0 is best) on {options.graded}"
    return _log(compare_isotropy(compared.encode(), sets, options), caption, "isotropy", decimals=3)


def plot_cosines(
    options: CosineOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> Plotted:
    """Plot the distributions of the cosines of positive and of negative pairs."""
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    table = compare_cosines(compared.encode(), compared.graded(options.graded), options)
    bounds = f"graded above {options.above:g} and below {options.below:g}"
    caption = f"Cosines of pairs of {options.graded} {bounds}, and how well they separate"
    summary = _log(summarize_cosines(table), caption, "cosine_distributions", decimals=3)
    return table, _plotted(plot_cosine_distributions(table, summary), "cosine_distributions")


def draw_roc_curves(
    options: CurveOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> Plotted:
    """Draw the ROC curves of the cosines of positive and negative pairs."""
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    # Without the setting's encoders, since a folder may have the name of a method.
    other_encoders = Compared({}, encoding)
    further = {title: other_encoders.encode_by(name) for title, name in options.further.items()}
    table = roc_curves(compared.encode() | further, compared.graded(options.graded), options)
    areas = table.groupby("model", sort=False)["auc"].first().reset_index()
    _log(areas, f"Area under the ROC curve of the cosines of {options.graded}", "roc_curves", decimals=3)
    return table, _plotted(plot_roc_curves(table), "roc_curves")


def measure_language_identity(
    options: LanguageIdentityOptions,
    encoding: EncodingOptions,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    **encoders: Path | None,
) -> DataFrame:
    """Measure how well a linear classifier predicts the language of a sentence from its embedding."""
    compared = Compared(encoders, encoding, evaluation_data, tasks)
    name = options.parallel
    task = compared.task(name)
    parallel = {code: parallel_sentences(task, pair) for code, pair in options.pairs.items()}
    table = compare_language_identity(compared.encode(), parallel, options)
    caption = f"Accuracy of a classifier of languages on {name}; nearer to chance is more neutral"
    return _log(table, caption, "language_identity")


def compare_pairs(options: GivenPairsOptions, encoding: EncodingOptions, **encoders: Path | None) -> DataFrame:
    """Compute the cosines of the sentence pairs that the parameters give; it reads no evaluation data."""
    table = compare_given_pairs(Compared(encoders, encoding).encode(), options)
    return _log(table, "Cosines of the given pairs", "given_pairs", decimals=4)


def _log(table: DataFrame, caption: str, name: str, **form: Any) -> DataFrame:
    logger.info("%s:\n%s", caption, format_table(table, **form))
    log_table(table, name)
    return table


def _plotted(figure: Figure, name: str) -> Figure:
    log_plot(figure, name)
    return figure
