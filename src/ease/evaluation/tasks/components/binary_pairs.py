"""Pairs of sentences with a label of two classes, scored by the area under the ROC curve of their cosines.

A pair's grade is 1 for the positive class and 0 for the negative one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.items import auc_items
from ease.evaluation.tasks import Encode, Score
from ease.evaluation.tasks.components.graded_pairs import GradedPair, pair_cosines, texts_of
from ease.io.text_tables import read_records

logger = logging.getLogger(__name__)

METRIC = "auc"
BLOCK = 8192
"""Pairs encoded at once."""


def read_binary_pairs(
    path: Path,
    columns: tuple[str, str, str],
    labels: Mapping[str, bool],
    delimiter: str = "\t",
    *,
    quoted: bool = False,
    blanks: bool = False,
) -> list[GradedPair]:
    """Read a table of the columns left text, right text and label.

    Args:
        path: The file.
        columns: Names of the three columns.
        labels: Whether each label is the positive class.
        delimiter: Between two fields.
        quoted: Quotation marks enclose fields; otherwise they are text.
        blanks: Skip rows with a blank text instead of refusing them.
    """
    pairs, skipped = [], 0
    left, right, label = columns
    for place, row in read_records(path, columns, delimiter, quoted=quoted):
        if row[label] not in labels:
            raise EaseError(f"{place}: the label {row[label]!r} is not one of {', '.join(labels)}.")
        if row[left] and row[right]:
            pairs.append(GradedPair(row[left], row[right], float(labels[row[label]])))
        elif blanks:
            skipped += 1
        else:
            raise EaseError(f"{place}: the {left} or the {right} is missing; fetch the file again.")
    if skipped:
        logger.info("%s: %d pairs with a blank text are skipped", path, skipped)
    if len({pair.gold for pair in pairs}) < 2:
        raise EaseError(f"{path}: all {len(pairs)} pairs have one label; a ROC curve needs both.")
    return pairs


def score_binary_pairs(encode: Encode, pairs: Sequence[GradedPair], task: str, subset: str) -> Score:
    """Area under the ROC curve of the pairs' cosines, in points; 50 is chance."""
    from sklearn.metrics import roc_auc_score

    cosines = pair_cosines(encode, pairs, f"{task} {subset}", BLOCK)
    positive = [pair.gold > 0 for pair in pairs]
    area = float(roc_auc_score(positive, cosines))
    logger.info("%s %s: AUC %.1f over %d pairs", task, subset, 100 * area, len(pairs))
    return Score(task, subset, METRIC, 100 * area, items=auc_items(cosines, positive, texts_of(pairs)))
