"""SICK-Relatedness: English sentence pairs graded 1 to 5 (Marelli et al., 2014)."""

from __future__ import annotations

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components import graded_pairs as graded
from ease.evaluation.tasks.components.options import SubsetOptions

METRIC = "spearman"
KIND = "STS"
SOURCE = "https://zenodo.org/records/2787612: SICK_{train,trial,test_annotated}.txt (CC BY-NC-SA 3.0)"
COLUMNS = graded.GradedColumns("sentence_A", "sentence_B", "relatedness_score", lowest=1, highest=5)
FILES = {"train": "SICK_train.txt", "trial": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


class Options(SubsetOptions):
    """The folder of SICK_{train,trial,test_annotated}.txt, and the subsets to score; trial selects models."""


def files(options: Options) -> Files:
    """One file per split; `all` joins the three, as MTEB does, while the papers use `test`."""
    splits = {split: (options.path / file,) for split, file in FILES.items()}
    return options.select({**splits, "all": tuple(options.path / file for file in FILES.values())})


def read_pairs(options: Options) -> dict[str, list[graded.GradedPair]]:
    """Read the pairs of each subset whose files exist."""
    found = available_subsets(files(options))
    return {
        subset: [pair for path in paths for pair in graded.read_graded_pairs(path, COLUMNS)]
        for subset, paths in found.items()
    }


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each split."""
    return graded.score_graded_sets(encode, read_pairs(options), "sickr")
