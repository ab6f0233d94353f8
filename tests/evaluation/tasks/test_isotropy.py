"""The task `isotropy`: known answers of lists of strings, and invalid lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ease.errors import EaseError
from ease.evaluation.tasks import get_task, main_score

isotropy = get_task("isotropy")


def encode_axes(strings: Sequence[str]) -> np.ndarray:
    """Encode a string such as `x+2` as two units along the x axis."""
    rows = np.zeros((len(strings), 2))
    for row, text in enumerate(strings):
        rows[row, "xy".index(text[0])] = float(text[1:])
    return rows


def options(folder: Path, text: str, **changes: object) -> Any:
    (folder / "words.txt").write_text(text, encoding="utf-8")
    return isotropy.options(path=folder, lists={"word": "words.txt"}, **changes)


def test_isotropy_and_mean_are_known_for_vectors_on_the_axes(tmp_path: Path) -> None:
    # Eigenvectors are the axes: sums of exp(±x) over x = 1, -1, 0 and of exp(±y) over y = 0, 0, 2.
    scores = isotropy.evaluate(encode_axes, options(tmp_path, "x+1\nx-1\n\nx+1\ny+2\n"))
    sums = [math.e + 1 / math.e + 1, 2 + math.exp(2), 2 + math.exp(-2)]
    assert [(score.subset, score.metric) for score in scores] == [
        *(("word", "isotropy"), ("word", "mean_vector_norm"))
    ]
    assert scores[0].value == pytest.approx(100 * min(sums) / max(sums))
    assert scores[1].value == pytest.approx(2 / 3)
    assert main_score(scores) == scores[0].value
    even = isotropy.evaluate(encode_axes, options(tmp_path, "x+1\nx-1\ny+1\ny-1\n"))
    assert [score.value for score in even] == pytest.approx([100, 0])
    first = isotropy.evaluate(encode_axes, options(tmp_path, "x+1\nx-1\ny+1\ny-1\n", rows=2))
    assert first[0].value == pytest.approx(100 * 2 / (math.e + 1 / math.e))


def test_errors_name_the_list(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match=r"words\.txt: 1 distinct strings; isotropy needs at least 2"):
        isotropy.evaluate(encode_axes, options(tmp_path, "x+1\nx+1\n"))
    with pytest.raises(EaseError, match="isotropy word: 2 of 2 rows"):
        isotropy.evaluate(lambda texts: np.full((len(texts), 2), np.nan), options(tmp_path, "a\nb\n"))
