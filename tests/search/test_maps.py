"""Codes of languages on the map do not overlap, and stay near the means of their languages."""

from __future__ import annotations

import numpy as np
import pytest

from ease.search.maps import CODE, Point, spread_codes


def points(places: np.ndarray) -> list[Point]:
    return [Point(str(number), "", float(x), float(y)) for number, (x, y) in enumerate(places)]


@pytest.mark.parametrize("extent", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("corner", [0.0, 0.5])
def test_codes_of_18_languages_do_not_overlap(extent: float, corner: float) -> None:
    centres = points(corner + extent * np.random.default_rng(0).random((18, 2)))
    found = np.array([(point.x, point.y) for point in spread_codes(centres)])
    assert found.min() >= 0
    assert found.max() <= 1
    apart = np.abs(found[:, None] - found[None]) >= CODE - 1e-6
    assert (apart.any(axis=2) | np.eye(18, dtype=bool)).all()
    assert np.abs(found - [(point.x, point.y) for point in centres]).max() < 6 * CODE.max()


def test_codes_that_do_not_overlap_stay() -> None:
    centres = points(np.array([[0.1, 0.1], [0.1, 0.2], [0.2, 0.1]]))
    assert spread_codes(centres) == centres
    assert spread_codes([]) == []
