"""Semantic textual similarity 2012 to 2016: English pairs graded 0 to 5 (Agirre et al., 2012 to 2016)."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.graded_pairs import (
    compare_pairs,
    read_paired_files,
    score_cosines,
    texts_of,
)
from ease.evaluation.tasks.components.options import SubsetOptions

METRIC = "spearman"
PART_MEAN = "spearman_part_mean"
KIND = "STS"
SOURCE = (
    "http://ixa2.si.ehu.eus/stswiki/images/: 4/40/STS2012-en-test.zip, 2/2f/STS2013-en-test.zip, "
    "8/8c/STS2014-en-test.zip, d/da/STS2015-en-test.zip, 9/98/STS2016-en-test.zip; rename their folders to "
    "STS12-en-test ... STS16-en-test, as SentEval does (various licences for research: each year's readme)"
)
PARTS = {
    "2012": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    # SMT, the fourth part of 2013, is licensed text that was never released with the others.
    "2013": ("FNWN", "headlines", "OnWN"),
    "2014": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "2015": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "2016": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}


class Options(SubsetOptions):
    """The folder of STS12-en-test to STS16-en-test, and the years to score."""


def files(options: Options) -> Files:
    """Sentences and grades of each part of each year, alternating."""
    return {
        year: tuple(path for part in PARTS[year] for path in _part_files(options.path, year, part))
        for year in options.chosen(PARTS)
    }


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation over all pairs of a year in one list (section 4.1), and its mean over the year's parts."""
    scores = []
    for year, paths in available_subsets(files(options)).items():
        parts = [read_paired_files(*both) for both in zip(paths[::2], paths[1::2], strict=True)]
        names = [f"{year} {name}" for name in PARTS[year]]
        compared = [compare_pairs(encode, part, "sts", name) for name, part in zip(names, parts, strict=True)]
        own = tuple(score_cosines(*both, "sts", name) for name, both in zip(names, compared, strict=True))
        cosines, grades = map(np.concatenate, zip(*compared, strict=True))
        texts = [text for part in parts for text in texts_of(part)]
        scores.append(score_cosines(cosines, grades, "sts", year, texts))
        scores.append(Score("sts", year, PART_MEAN, fmean(part.value for part in own), parts=own))
    return scores


def _part_files(folder: Path, year: str, part: str) -> tuple[Path, Path]:
    """Find sentences and grades; file names of 2016 contain the year, unless SentEval renamed them."""
    year_folder = folder / f"STS{year[2:]}-en-test"
    plain, dated = (
        (year_folder / f"{prefix}.input.{part}.txt", year_folder / f"{prefix}.gs.{part}.txt")
        for prefix in ("STS", f"STS{year}")
    )
    return dated if all(path.exists() for path in dated) else plain
