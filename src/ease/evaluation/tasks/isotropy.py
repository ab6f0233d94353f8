"""Isotropy of the embeddings of lists of strings: how evenly they spread (Tables 9 and 14 of Mirror-BERT).

The paper measures each encoder on the strings that it was trained on.
"""

from __future__ import annotations

import logging
from itertools import islice
from pathlib import Path

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.isotropy import isotropy_score, mean_vector_norm
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, error_prefix
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.text_tables import read_lines

logger = logging.getLogger(__name__)

TASK, METRIC, NORM = "isotropy", "isotropy", "mean_vector_norm"
KIND = "STS"
SOURCE = (
    "https://github.com/cambridgeltl/mirror-bert/tree/main/data/mirror_corpus: en_words_top_10k.txt and "
    "stsbenchmark_train_10k_sents_random_sampled.txt; names of UMLS need its licence, https://www.nlm.nih.gov/research/umls"
)


class Options(SubsetOptions):
    """The folder of the lists, their files, and the lists to measure."""

    lists: dict[str, str] = Field(min_length=1, description="the file of each list, one string per line")
    rows: int = Field(10_000, ge=2, description="maximum number of strings of each list, from its start")


def files(options: Options) -> Files:
    """One file per list."""
    return options.select({name: (options.path / file,) for name, file in options.lists.items()})


def read_strings(path: Path, rows: int) -> list[str]:
    """Read the first distinct strings of a file; blank lines are skipped."""
    strings = dict.fromkeys(filter(None, (line.strip() for _, line in read_lines(path))))
    if len(strings) < 2:
        raise EaseError(f"{path}: {len(strings)} distinct strings; isotropy needs at least 2, one per line.")
    return list(islice(strings, rows))


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Isotropy of each list's embeddings, in points (100 is isotropic), and the length of their mean, unscaled."""
    scores = []
    for name, (path,) in available_subsets(files(options)).items():
        strings = read_strings(path, options.rows)
        with error_prefix(f"{TASK} {name}"):
            embeddings = np.asarray(encode(strings))
            isotropy, norm = 100 * isotropy_score(embeddings), mean_vector_norm(embeddings)
        logger.info("%s %s: %.1f, mean vector %.2f, of %d strings", TASK, name, isotropy, norm, len(strings))
        scores += [Score(TASK, name, METRIC, isotropy), Score(TASK, name, NORM, norm)]
    return scores
