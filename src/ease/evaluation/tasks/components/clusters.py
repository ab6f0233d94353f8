"""K-means clustering of labelled texts with several seeds, scored against the labels."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field
from tqdm.auto import tqdm

from ease.errors import EaseError
from ease.evaluation.cluster_agreement import (
    accuracy_of_clusters,
    adjusted_mutual_information,
    hungarian_accuracy,
    mean_cluster_purity,
    mean_purity_of_clusters,
    purity,
    purity_of_clusters,
    v_measure,
)
from ease.evaluation.clustering import cluster
from ease.evaluation.items import Items, agreement_items, mean_items
from ease.evaluation.tasks import Encode, Score, averages, error_prefix
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.repetitions import Seeds, repeated_score

logger = logging.getLogger(__name__)

METRIC = "accuracy"

Measures = Mapping[str, Callable[[ArrayLike, ArrayLike], float]]
"""Agreement of clusters with classes (0 to 1), by the name of the metric."""

MEASURES: Measures = {
    METRIC: hungarian_accuracy,
    "v_measure": v_measure,
    "adjusted_mutual_information": adjusted_mutual_information,
}


ROWS = {
    hungarian_accuracy: accuracy_of_clusters,
    purity: purity_of_clusters,
    mean_cluster_purity: mean_purity_of_clusters,
}
"""The contribution of each row to a measure that is a mean over rows."""


def items_of(
    measure: Callable[[ArrayLike, ArrayLike], float], data: LabelledTexts, runs: Sequence[ArrayLike]
) -> Items | None:
    """Return the texts' contributions to a measure with the clusters of several runs; None for other measures."""
    texts = [(text,) for text in data.texts]
    if measure is v_measure:
        return agreement_items("v_measure", data.labels, runs, texts)
    if measure is adjusted_mutual_information:
        return agreement_items("adjusted_mutual_information", data.labels, runs, texts)
    if measure not in ROWS:
        return None
    return mean_items(np.mean([ROWS[measure](data.labels, run) for run in runs], axis=0), texts)


class ClusteringOptions(SubsetOptions):
    """Options of k-means, with as many clusters as there are classes."""

    seeds: Seeds = Field((42, 43, 44), description="seeds of k-means, whose scores are averaged")
    n_init: int = Field(
        10, ge=1, description="starts of k-means for each seed; the start with the lowest inertia is used"
    )


def score_cluster_sets(
    encode: Encode,
    readers: Mapping[str, Callable[[], LabelledTexts]],
    task: str,
    options: ClusteringOptions,
    wanted: int,
    measures: Measures = MEASURES,
) -> list[Score]:
    """Mean score over the seeds by each measure for each subset, and their averages.

    Args:
        encode: The encoder.
        readers: A function for each subset that reads it.
        task: Name of the task.
        options: Options of k-means.
        wanted: Number of subsets of the complete task.
        measures: By default Hungarian accuracy (section 4.1), V-measure and AMI.

    Raises:
        EaseError: With the subset, if it has a single class, or as many classes as texts, or an embedding is not
            finite.
    """
    scores: list[Score] = []
    with tqdm(readers.items(), desc=f"Clustering {task}", unit="set", delay=2, leave=False) as bar:
        for subset, read in bar:
            bar.set_postfix_str(subset)
            scores += _score_clusters(encode, read(), task, subset, options, measures)
    return scores + averages(scores, wanted)


def _score_clusters(
    encode: Encode,
    data: LabelledTexts,
    task: str,
    subset: str,
    options: ClusteringOptions,
    measures: Measures,
) -> list[Score]:
    classes, count = np.unique(data.labels).size, len(data.texts)
    if not 1 < classes < count:
        raise EaseError(
            f"{task} {subset}: {count} texts in {classes} classes; clustering needs at least two classes and "
            "more texts than classes. Are texts and labels the right way round?"
        )
    embeddings = encode(data.texts)
    with error_prefix(f"{task} {subset}"):
        found = [cluster(embeddings, classes, seed, options.n_init) for seed in options.seeds]
    zero = int((~embeddings.any(axis=1)).sum())
    note = "; ".join(filter(None, [data.note, f"zero vectors: {zero}" if zero else ""]))
    scores = [
        repeated_score(
            task,
            subset,
            metric,
            [measure(data.labels, clusters) for clusters in found],
            note,
            items_of(measure, data, found),
        )
        for metric, measure in measures.items()
    ]
    shown = ", ".join(f"{score.metric.replace('_', ' ')} {score.value:.1f}" for score in scores)
    about = f" ({note})" if note else ""
    logger.info("%s %s: %s, %d texts in %d classes%s", task, subset, shown, count, classes, about)
    return scores
