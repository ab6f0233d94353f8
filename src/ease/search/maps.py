"""A map of languages: sentences in two dimensions, projected as the analysis of language pairs does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ease.evaluation.analysis.languages import principal_components
from ease.search.engine import Search

PER_LANGUAGE = 40
"""Sentences shown of each language."""
DRAWN_PER_LANGUAGE = 3 * PER_LANGUAGE
SEED = 0
"""Seed of the sample"""
CODE = np.array([0.055, 0.038])
"""Width and height of a language's code, as shares of the map."""
STEPS = 4
"""Places tried within the width and the height of a code; a code moves by at most six times its size."""


class Point(NamedTuple):
    """A sentence on the map; both coordinates are from 0 to 1."""

    language: str
    text: str
    x: float
    y: float


class LanguageMap(NamedTuple):
    """The sentences, the languages, and the share of the variance that both axes explain (0 to 1)."""

    points: list[Point]
    codes: list[Point]
    """The means of the languages, moved apart where their codes would overlap"""
    typed: Point | None
    """A typed sentence"""
    variance: float


def map_languages(search: Search, text: str = "") -> LanguageMap:
    """Project a sample of the indexed sentences, and a typed one, by their principal components.

    Raises:
        EaseError: If the text is too long, or the embeddings have no projection.
    """
    index = search.index
    drawn = np.concatenate(
        [index.embedded_rows(language, DRAWN_PER_LANGUAGE, SEED) for language in index.languages]
    )
    shown = _with_links(drawn, index.sentences.rows(drawn))
    rows = np.array([row for row, _ in shown])
    texts = [(row["language"], row["text"]) for _, row in shown]
    vectors = index.vectors(rows)
    if text.strip():
        vectors = np.concatenate([vectors, search.embed(text)[None]])
        texts.append(("", text))
    places, variance = principal_components(vectors)
    low, extent = places.min(axis=0), np.ptp(places, axis=0)
    scaled = (places - low) / np.where(extent > 0, extent, 1.0)
    points = [Point(*about, float(x), float(1 - y)) for about, (x, y) in zip(texts, scaled, strict=True)]
    typed = points.pop() if text.strip() else None
    return LanguageMap(points, spread_codes(_centres(points)), typed, variance)


def _with_links(rows: NDArray[np.int64], sentences: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Return some sentences of each language, first those that link to an entity, which headings do not."""
    own: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for row, sentence in zip(rows.tolist(), sentences, strict=True):
        own.setdefault(sentence["language"], []).append((row, sentence))
    shown = []
    for found in own.values():
        found.sort(key=lambda pair: not pair[1]["entities"])
        shown += found[:PER_LANGUAGE]
    return shown


def _centres(points: list[Point]) -> list[Point]:
    """Return the mean place of each language."""
    by_language: dict[str, list[Point]] = {}
    for point in points:
        by_language.setdefault(point.language, []).append(point)
    return [
        Point(
            language,
            language,
            float(np.mean([point.x for point in own])),
            float(np.mean([point.y for point in own])),
        )
        for language, own in by_language.items()
    ]


def spread_codes(centres: list[Point]) -> list[Point]:
    """Move points to the nearest places on the map where codes do not overlap those of the points before them."""
    reach = np.arange(-6 * STEPS, 6 * STEPS + 1)
    steps = np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2) * CODE / STEPS
    steps = steps[np.argsort(np.linalg.norm(steps, axis=1), kind="stable")]
    taken: list[NDArray[np.float64]] = []
    for point in centres:
        places = np.array([point.x, point.y]) + steps
        free = ((places >= 0) & (places <= 1)).all(axis=1)
        for other in taken:
            free &= (np.abs(places - other) >= CODE - 1e-9).any(axis=1)
        taken.append(places[int(free.argmax())])  # the mean itself if no place is free
    return [point._replace(x=float(x), y=float(y)) for point, (x, y) in zip(centres, taken, strict=True)]
