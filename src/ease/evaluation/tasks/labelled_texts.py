"""Texts with class labels: k-means with several seeds finds clusters, which are compared with the labels."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.clustering import AGREEMENTS, ROWS, cluster
from ease.evaluation.encodes import Encode
from ease.evaluation.items import agreement_items, mean_items
from ease.evaluation.tasks import Score, Seeds, SubsetTask, TaskOptions, Texts, repeated_score
from ease.evaluation.tasks.set_files import TableOptions, TableTask

logger = logging.getLogger(__name__)

Metric = Literal["accuracy", "v_measure", "adjusted_mutual_information", "purity", "mean_cluster_purity"]
DEFAULT: tuple[Metric, ...] = ("accuracy", "v_measure", "adjusted_mutual_information")


@dataclass(frozen=True)
class LabelledTexts:
    """Stripped texts, their labels, and the number of skipped blank texts."""

    texts: list[str]
    labels: list[str]
    blank: int = 0

    @property
    def note(self) -> str:
        """Note shown beside the score."""
        return f"blank texts skipped: {self.blank}" if self.blank else ""


def collect_texts(path: Path, rows: Iterable[tuple[str, Any, Any]]) -> LabelledTexts:
    """Collect rows of a place (for messages), a label and a text of the file `path`; blank texts are skipped."""
    texts, labels, blank = [], [], 0
    for place, label, text in rows:
        if not label.strip():
            raise EaseError(f"{place}: the label is missing; fetch or make the file again.")
        if text.strip():
            texts.append(text.strip())
            labels.append(label.strip())
        else:
            blank += 1
    if not texts:
        raise EaseError(f"{path}: contains no text; fetch or make the file again.")
    return LabelledTexts(texts, labels, blank)


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
        return super().fill(
            name.replace("{split}", "" if self.split == "all" else f"_{self.split}"), subset, part
        )


class LabelledTextsTask(SubsetTask, TableTask):
    """Clustering of labelled texts."""

    KIND = "Clustering"
    Options: ClassVar[type[TaskOptions]] = ClusteringOptions

    @property
    def METRICS(self) -> tuple[str, ...]:  # type: ignore[override]
        """The measures, the main one first."""
        return tuple(self.configured.get("metrics", DEFAULT))

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> LabelledTexts:
        """Read the texts of a set, which need at least two classes and more texts than classes."""
        rows = self.rows(options, subset, paths)
        data = collect_texts(
            paths[0], ((place, self._label(place, row["label"], options), row["text"]) for place, row in rows)
        )
        classes = len(set(data.labels))
        if not 1 < classes < len(data.texts):
            raise EaseError(
                f"{paths[0]}: {len(data.texts)} texts in {classes} classes; clustering needs at least two classes and "
                "more texts than classes. Are texts and labels the right way round?"
            )
        return data

    def _label(self, place: str, given: str, options: ClusteringOptions) -> str:
        label = options.labels.get(given, given)
        if options.labels and label and label not in options.labels.values():
            raise EaseError(
                f"{place}: the label {given!r} is not one of {', '.join(options.labels.values())}."
            )
        return label

    def texts(self, options: Any, data: LabelledTexts) -> Mapping[str, Texts]:
        """Return each text."""
        return {metric: [(text,) for text in data.texts] for metric in options.metrics}

    def score(self, encode: Encode, options: Any, subset: str, data: LabelledTexts) -> Iterator[Score]:
        """Mean score over the seeds by each measure."""
        embeddings, classes = encode(data.texts), np.unique(data.labels).size
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
            score = repeated_score(self.name, subset, metric, values, note, items)
            logger.info("%s %s: %s %.1f, %d texts", self.name, subset, metric, score.value, len(data.texts))
            yield score


TASK = LabelledTextsTask
