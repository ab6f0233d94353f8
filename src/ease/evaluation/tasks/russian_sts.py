"""Russian STS: video descriptions of STS 2012 in Russian, graded 0 to 5 (Table 4 of Mirror-BERT)."""

from __future__ import annotations

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components import graded_pairs as graded
from ease.evaluation.tasks.components.options import SubsetOptions

TASK, METRIC = "russian_sts", "spearman"
KIND = "STS"
SOURCE = (
    "http://files.deeppavlov.ai/datasets/STS2012_MSRvid_translated.tar.gz: STS.input.MSRvid.txt and STS.gs.MSRvid.txt "
    "(translation of https://www.cs.york.ac.uk/semeval-2012/task6; no licence stated: for research)"
)
SUBSET = "msrvid"


class Options(SubsetOptions):
    """The folder of STS.input.MSRvid.txt and STS.gs.MSRvid.txt; the only subset is msrvid."""


def files(options: Options) -> Files:
    """The file of sentences and the file of grades."""
    return options.select(
        {SUBSET: (options.path / "STS.input.MSRvid.txt", options.path / "STS.gs.MSRvid.txt")}
    )


def read_pairs(options: Options) -> dict[str, list[graded.GradedPair]]:
    """Read the pairs."""
    return {
        subset: graded.read_paired_files(sentences, grades)
        for subset, (sentences, grades) in available_subsets(files(options)).items()
    }


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades."""
    return graded.score_graded_sets(encode, read_pairs(options), TASK)
