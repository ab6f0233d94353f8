"""Placement of point labels with little overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

PLACES = {
    "top center": (0.0, 1.0),
    "bottom center": (0.0, -1.0),
    "middle right": (1.0, 0.0),
    "middle left": (-1.0, 0.0),
    "top right": (1.0, 1.0),
    "bottom right": (1.0, -1.0),
    "top left": (-1.0, 1.0),
    "bottom left": (-1.0, -1.0),
}
"""Plotly's text positions with their directions from the point, in order of preference."""

LETTER, LINE, GAP = 6.5, 15.0, 7.0
"""Mean width of a letter, height of a line and distance of a label from its point, in pixels."""


class _Box(NamedTuple):
    """A rectangle in pixels from the lower left corner of the panel."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: _Box) -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return width * height if width > 0 and height > 0 else 0.0


def place_labels(
    points: pd.DataFrame, x_range: Sequence[float], y_range: Sequence[float], width: float, height: float
) -> list[str]:
    """Choose for each point (`label`, `x`, `y`) the text position that overlaps least with other labels and points.

    The ranges of the panel are in the unit of the points, its width and height in pixels.

    Returns:
        Plotly's text positions, in the order of the points.
    """
    left = (points["x"] - x_range[0]) / (x_range[1] - x_range[0]) * width
    bottom = (points["y"] - y_range[0]) / (y_range[1] - y_range[0]) * height
    at = list(zip(left, bottom, strict=True))
    taken = [_Box(x - GAP, y - GAP, x + GAP, y + GAP) for x, y in at]
    chosen = []
    for (x, y), label in zip(at, points["label"], strict=True):
        boxes = {place: _label_box(x, y, label, *direction) for place, direction in PLACES.items()}
        place = min(boxes, key=lambda name: sum(boxes[name].overlap(other) for other in taken))
        taken.append(boxes[place])
        chosen.append(place)
    return chosen


def _label_box(x: float, y: float, label: str, right: float, up: float) -> _Box:
    width = LETTER * len(label)
    centre_x = x + right * (width / 2 + GAP)
    centre_y = y + up * (LINE / 2 + GAP)
    return _Box(centre_x - width / 2, centre_y - LINE / 2, centre_x + width / 2, centre_y + LINE / 2)
