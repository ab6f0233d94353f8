"""Your own texts with labels, clustered by k-means, from files with columns (docs/own_data.md)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.clusters import METRIC, ClusteringOptions, score_cluster_sets
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts, collect_texts
from ease.evaluation.tasks.components.own_files import OwnSet, read_own_rows, require_own, select_own
from ease.io.models import StrictModel

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

TASK = "own_labelled_texts"
KIND = "Clustering"
SOURCE = "nobody: the files are your own, and `tasks.own_labelled_texts.sets` names them"


class Columns(StrictModel):
    """Names of the columns."""

    text: str = Field("text", description="column of the text; a blank text skips the row")
    label: str = Field("label", description="column of the label")


class LabelledSet(OwnSet):
    """A file of labelled texts."""

    columns: Columns = Field(Columns(), description="names of the columns")


class Options(ClusteringOptions):
    """The folder of the files, the sets to score, the sets, and options of k-means."""

    sets: dict[str, LabelledSet] = Field({}, description="files of labelled texts, by the names of the sets")


def files(options: Options) -> Files:
    """One file per set."""
    return select_own(options, options.sets, TASK)


def read_set(path: Path, chosen: LabelledSet) -> LabelledTexts:
    """Read a file of labelled texts.

    Raises:
        EaseError: If a column or a label is missing, or all texts have one label.
    """
    columns = chosen.columns.model_dump()
    rows = read_own_rows(path, columns)
    data = collect_texts(
        path, ((f"{place}, column {columns['label']!r}", row["label"], row["text"]) for place, row in rows)
    )
    if len(set(data.labels)) < 2:
        raise EaseError(
            f"{path}: all {len(data.texts)} texts have the label {data.labels[0]!r}, and clustering needs two; is "
            f"{columns['label']!r} the right column?"
        )
    return data


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy, V-measure and adjusted mutual information of k-means on each set, and their means over the sets."""
    found = available_subsets(require_own(files(options), TASK))
    readers = {name: partial(read_set, path, options.sets[name]) for name, (path,) in found.items()}
    return score_cluster_sets(encode, readers, TASK, options, len(options.chosen(options.sets)))
