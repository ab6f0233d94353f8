"""Texts with class labels: k-means with several seeds finds clusters, which are compared with the labels.

Section 4.1 of EASE and section 4.5 of mSimCSE.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.classifiers import one_thread
from ease.evaluation.items import agreement_items, mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import Seeds, TaskOptions, Texts
from ease.evaluation.tasks.set_files import Labelled, TableOptions, TableTask, collect_labelled
from ease.similarity.encode import Encode
from ease.similarity.vectors import Floats, finite_rows

logger = logging.getLogger(__name__)

ClusteringMetric = Literal["accuracy", "v_measure", "adjusted_mutual_information", "purity", "mean_cluster_purity"]
DEFAULT_METRICS: tuple[ClusteringMetric, ...] = ("accuracy", "v_measure", "adjusted_mutual_information")


class ClusteringOptions(TableOptions):
    """Options of k-means, with as many clusters as there are classes."""

    seeds: Seeds = Field((42, 43, 44), description="seeds of k-means, whose scores are averaged")
    n_init: int = Field(
        10, ge=1, description="starts of k-means for each seed; the start with the lowest inertia is used"
    )
    metrics: tuple[ClusteringMetric, ...] = Field(
        DEFAULT_METRICS, min_length=1, description="measures of agreement, the main one first"
    )
    labels: dict[str, str] = Field({}, description="names of labels; if given, other labels are refused")
    split: Literal["all", "small", "earlier", "recent"] = Field(
        "all",
        description="split of MewsC-16's edition `clean`: balanced and small, or the articles before or since a day",
    )

    def fill(self, name: str, subset: str, part: str = "") -> str:
        """Return the name of a file with the set and the split in it."""
        split = "" if self.split == "all" else f"_{self.split}"
        return super().fill(name.replace("{split}", split), subset, part)


class LabelledTextsTask(TableTask):
    """Clustering of labelled texts."""

    TYPE = "Clustering"
    Options: ClassVar[type[TaskOptions]] = ClusteringOptions
    options: ClusteringOptions

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures, the main one first."""
        return self.options.metrics

    def read(self, subset: str, paths: tuple[Path, ...]) -> Labelled:
        """Read the texts of a set, which need at least two classes and more texts than classes."""
        names = self.options.labels
        rows = (
            (place, names.get(row["label"], row["label"]), (row["text"],)) for place, row in self.rows(subset, paths)
        )
        data = collect_labelled(paths[0], rows, names.values())
        classes = len(set(data.labels))
        if not 1 < classes < len(data.texts):
            raise EaseError(
                f"{paths[0]}: {len(data.texts)} texts in {classes} classes; clustering needs at least two classes and "
                "more texts than classes. Are texts and labels the right way round?"
            )
        return data

    def texts(self, data: Labelled) -> Mapping[str, Texts]:
        """Return each text."""
        return dict.fromkeys(self.metrics, data.texts)

    def score(self, encode: Encode, subset: str, data: Labelled) -> Iterator[Score]:
        """Yield the mean score over the seeds by each measure."""
        options = self.options
        embeddings = encode([text for (text,) in data.texts])
        classes = np.unique(data.labels).size
        runs = [cluster(embeddings, classes, seed, options.n_init) for seed in options.seeds]
        notes = [data.note]
        if zero := int((~embeddings.any(axis=1)).sum()):
            notes.append(f"zero vectors: {zero}")
        for metric in options.metrics:
            if metric in ROW_MEASURES:
                rows = [ROW_MEASURES[metric](data.labels, run) for run in runs]
                values = [float(contributions.mean()) for contributions in rows]
                items = mean_items(np.mean(rows, axis=0))
            else:
                values = [agreement(metric, data.labels, run) for run in runs]
                items = agreement_items(metric, data.labels, runs)
            yield self.mean_result(subset, metric, values, "; ".join(filter(None, notes)), items)


def cluster(embeddings: ArrayLike, clusters: int, seed: int, n_init: int = 10) -> NDArray[np.int64]:
    """Cluster embeddings, of which some may be zero vectors, by k-means: (n, dimension) -> (n,), cluster numbers.

    Settings are those of the published scores, scikit-learn's defaults of the time: embeddings are not normalised;
    k-means++; the start of the lowest inertia; at most 300 iterations; tolerance 1e-4. One thread computes, because
    the order of summation would otherwise make the clusters depend on the number of threads.
    """
    from sklearn.cluster import KMeans

    with one_thread():
        model = KMeans(clusters, n_init=n_init, random_state=seed).fit(finite_rows(embeddings))
    numbers = model.labels_.astype(np.int64)
    if (distinct := np.unique(numbers).size) < clusters:
        logger.warning("Only %d of %d clusters found: all other embeddings are duplicates", distinct, clusters)
    return numbers


def _contingency(classes: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the counts, (classes, clusters), and the row and the column of each item."""
    from sklearn.metrics.cluster import contingency_matrix

    rows = np.unique(np.asarray(classes), return_inverse=True)[1]
    columns = np.unique(np.asarray(clusters), return_inverse=True)[1]
    return contingency_matrix(rows, columns), rows, columns


def accuracy_of_clusters(classes: ArrayLike, clusters: ArrayLike) -> Floats:
    """Return whether each row is in the cluster of its class: (n,).

    Clusters and classes are matched one-to-one for the best accuracy (section 4.1); surplus ones match nothing.
    """
    from scipy.optimize import linear_sum_assignment

    counts, rows, columns = _contingency(classes, clusters)
    matched = np.zeros(counts.shape, dtype=bool)
    matched[linear_sum_assignment(counts, maximize=True)] = True
    return matched[rows, columns].astype(np.float64)


def purity_of_clusters(classes: ArrayLike, clusters: ArrayLike) -> Floats:
    """Return whether each row is of the most frequent class of its cluster: (n,) (Manning et al., 2008, eq. 16.1)."""
    counts, rows, columns = _contingency(classes, clusters)
    return (counts.argmax(axis=0)[columns] == rows).astype(np.float64)


def mean_purity_of_clusters(classes: ArrayLike, clusters: ArrayLike) -> Floats:
    """Return contributions whose mean is the unweighted mean of the clusters' purities: (n,) (mSimCSE, section 4.5)."""
    counts, _, columns = _contingency(classes, clusters)
    sizes = counts.sum(axis=0)
    purities = counts.max(axis=0) / sizes
    flags = purity_of_clusters(classes, clusters)
    # Each cluster weighs the same, so a row weighs less in a large one.
    scale = len(columns) / (sizes[columns] * len(sizes))
    return float(purities.mean()) + (flags - purities[columns]) * scale


def agreement(metric: str, classes: ArrayLike, clusters: ArrayLike) -> float:
    """Return the agreement of clusters with classes, at most 1, by the V-measure or adjusted mutual information."""
    from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

    measures = {"v_measure": v_measure_score, "adjusted_mutual_information": adjusted_mutual_info_score}
    return float(measures[metric](classes, clusters))


ROW_MEASURES = {
    "accuracy": accuracy_of_clusters,
    "purity": purity_of_clusters,
    "mean_cluster_purity": mean_purity_of_clusters,
}
"""The contribution of each row to a measure that is a mean over rows."""
