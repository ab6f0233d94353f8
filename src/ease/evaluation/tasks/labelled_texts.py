"""Texts with class labels: k-means with several seeds finds clusters, which are compared with the labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.clustering import AGREEMENTS, ROWS, cluster
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import agreement_items, mean_items
from ease.evaluation.tasks import Score, Seeds, TaskOptions, Texts, repeated_score
from ease.evaluation.tasks.set_files import Labelled, TableOptions, TableTask, collect_labelled

Metric = Literal["accuracy", "v_measure", "adjusted_mutual_information", "purity", "mean_cluster_purity"]
DEFAULT: tuple[Metric, ...] = ("accuracy", "v_measure", "adjusted_mutual_information")


class ClusteringOptions(TableOptions):
    """Options of k-means, with as many clusters as there are classes."""

    seeds: Seeds = Field((42, 43, 44), description="seeds of k-means, whose scores are averaged")
    n_init: int = Field(
        10, ge=1, description="starts of k-means for each seed; the start with the lowest inertia is used"
    )
    metrics: tuple[Metric, ...] = Field(
        DEFAULT, min_length=1, description="measures of agreement, the main one first"
    )
    labels: dict[str, str] = Field({}, description="names of labels; if given, other labels are refused")
    split: Literal["all", "small", "earlier", "recent"] = Field(
        "all",
        description="split of MewsC-16's edition `clean`: balanced and small, or the articles before or since a day",
    )

    def fill(self, name: str, subset: str, part: str = "") -> str:
        """Return the name of a file with the split in it, too."""
        split = "" if self.split == "all" else f"_{self.split}"
        return super().fill(name.replace("{split}", split), subset, part)


class LabelledTextsTask(TableTask):
    """Clustering of labelled texts."""

    KIND = "Clustering"
    Options: ClassVar[type[TaskOptions]] = ClusteringOptions

    @property
    def METRICS(self) -> tuple[str, ...]:  # type: ignore[override]
        """The measures, the main one first."""
        return tuple(self.configured.get("metrics", DEFAULT))

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> Labelled:
        """Read the texts of a set, which need at least two classes and more texts than classes."""
        rows = (
            (place, options.labels.get(row["label"], row["label"]), (row["text"],))
            for place, row in self.rows(options, subset, paths)
        )
        data = collect_labelled(paths[0], rows, options.labels.values())
        classes = len(set(data.labels))
        if not 1 < classes < len(data.texts):
            raise EaseError(
                f"{paths[0]}: {len(data.texts)} texts in {classes} classes; clustering needs at least two classes and "
                "more texts than classes. Are texts and labels the right way round?"
            )
        return data

    def texts(self, options: Any, data: Labelled) -> Mapping[str, Texts]:
        """Return each text."""
        return dict.fromkeys(options.metrics, data.texts)

    def score(self, encode: Encode, options: Any, subset: str, data: Labelled) -> Iterator[Score]:
        """Mean score over the seeds by each measure."""
        embeddings, classes = encode([text for (text,) in data.texts]), np.unique(data.labels).size
        found = [cluster(embeddings, classes, seed, options.n_init) for seed in options.seeds]
        zero = int((~embeddings.any(axis=1)).sum())
        note = "; ".join(filter(None, [data.note, f"zero vectors: {zero}" if zero else ""]))
        for metric in options.metrics:
            if metric in ROWS:
                rows = [ROWS[metric](data.labels, run) for run in found]
                values, items = [float(own.mean()) for own in rows], mean_items(np.mean(rows, axis=0))
            else:
                values = [float(AGREEMENTS[metric](data.labels, run)) for run in found]
                items = agreement_items(metric, data.labels, found)
            yield repeated_score(self.name, subset, metric, values, note, items)
