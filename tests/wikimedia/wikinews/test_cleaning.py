"""Which sentences the edition `clean` removes, and why."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from ease.wikimedia.wikinews.cleaning import CleaningOptions, clean

RAIN = "Heavy rain fell over the northern provinces on Monday"
CASES = {
    "markup": [
        ("thumb|A photo of the heavy rain in Lima.", "Weather"),
        ("Category:WeatherCategory:Peru and other categories", "Weather"),
        ("Heavy rain fell over {{w|Lima}} on Monday morning.", "Weather"),
        ("File:Rain.jpg shows the heavy rain over Lima.", "Weather"),
        ("The image of 200px shows the rain over Lima.", "Weather"),
        ("The rain fell <br/> over Lima on Monday morning.", "Weather"),
    ],
    "short": [("It rained.", "Weather"), (".", "Weather")],
    "abbreviation": [("The weather was foreseen by George W.", "Weather")],
    "contradictory": [(f"{RAIN} evening.", "Weather"), (f"{RAIN} Evening!", "Sports")],
    "duplicate": [(f"{RAIN} morning, says the minister.", "Weather")] * 2,
    "notice": [("This article was uploaded by a bot and not reviewed.", "Weather")] * 11,
}
KEPT = [
    (f"{RAIN} morning, says the minister.", "Weather"),
    ("The ministers of the category met in Lima: they agreed.", "Politics"),
    ("Lima won against Oslo by 3 to 2 on Monday evening.", "Sports"),
]


def table_of(rows: list[tuple[str, str]]) -> pa.Table:
    return pa.table({"sentence": [row[0] for row in rows], "category": [row[1] for row in rows]})


def test_every_reason() -> None:
    rows = KEPT[:1] + [row for case in CASES.values() for row in case] + KEPT[1:]
    left, removed = clean(table_of(rows), "en", CleaningOptions())
    assert [tuple(row.values()) for row in left.to_pylist()] == KEPT
    assert removed == {reason: len(case) for reason, case in CASES.items()}


def test_near_duplicates_count_as_duplicates() -> None:
    rows = [
        (f"{RAIN} morning, says the minister of health.", "Weather"),
        (f"{RAIN} morning, says the minister of Health", "Weather"),
    ]
    rows.append((f"{RAIN} evening, says the minister of health.", "Weather"))
    left, removed = clean(table_of(rows), "en", CleaningOptions(similarity=0.75))
    assert (left.num_rows, removed["duplicate"]) == (1, 2)
    left, removed = clean(table_of(rows), "en", CleaningOptions(similarity=1.0))
    assert (left.num_rows, removed["duplicate"]) == (2, 1)


@pytest.mark.slow
def test_the_faults_of_the_published_files_are_gone(test_data: Path) -> None:
    folder = test_data / "eval" / "mewsc16"
    for language, least in (("ca", 850), ("en", 10000), ("fr", 6000)):
        lines = [
            (folder / f"{language}_{name}.txt").read_text(encoding="utf-8").splitlines()
            for name in ("sentences", "categories")
        ]
        rows = list(zip(*lines, strict=True))
        left, _ = clean(table_of(rows), language, CleaningOptions())
        sentences = left["sentence"].to_pylist()
        assert least < len(sentences) == len(set(sentences))
        assert min(map(len, sentences)) >= 20
        assert not any(
            "NewsieBot" in sentence or "Category:" in sentence or sentence == "U.S." for sentence in sentences
        )
