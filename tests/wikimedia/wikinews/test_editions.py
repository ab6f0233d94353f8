"""The edition `clean` made from dumps: what is joined and removed, splits, licences and metadata."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from ease.errors import EaseError
from ease.wikimedia.wikinews.editions import (
    balanced,
    clean_released,
    licence_history,
    licence_in_force,
)
from tests.wikimedia.made_dumps import make_page
from tests.wikimedia.made_news import Built, article, build, news_options, rows_of

PLACES = "Lima Oslo Cairo Quito Accra Hanoi Tunis Dakar Minsk Sofia Delhi Tokyo".split()
DAYS = ["2019", "2023"]


def news(page_id: int, topic: str, **page: str) -> str:
    """Return an article with a date line and a sentence of its own."""
    place, day, year = PLACES[page_id % 12], page_id % 28 + 1, DAYS[page_id % 2]
    sentence = f"The {topic.lower()} of {place} made news for the {page_id}th time, said officials there."
    text = f"{{{{date|May {day}, {year}}}}}\n{sentence}"
    return make_page(page_id, f"News {page_id}", f"{text}\n\n[[Category:{topic}]]", **page)


PAGES = [
    *(news(number, "Weather") for number in range(1, 9)),
    *(news(number, "Sports", timestamp="2025-03-01T00:00:00Z") for number in range(11, 16)),
    article(21, "The visit of George W. Bush to Lima ended with a speech. It rained."),
    article(22, "It rained."),
    article(23, "The ministers of nine countries met in Lima to talk about the rain."),
    article(24, "The ministers of nine countries met in Lima to talk about the rain!"),
]


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(
        tmp_path_factory.mktemp("clean"),
        *PAGES,
        edition="clean",
        cleaning={"similarity": 0.95},
        splits={"small": 8, "recent_since": "2022-01-01"},
    )


def test_what_is_removed_is_counted(cleaned: Built) -> None:
    folder, counts = cleaned
    found = counts["en"]
    assert found["removed"] == {
        "markup": 0,
        "short": 1,
        "abbreviation": 0,
        "notice": 0,
        "contradictory": 0,
        "duplicate": 1,
        "small_class": 0,
    }
    assert found["pages"] == len(PAGES) == found["sentences"] + sum(found["skipped"].values())
    assert len(rows_of(folder)) == found["sentences"] == len(PAGES) - 2


def test_sentences_go_on_after_an_abbreviation(cleaned: Built, tmp_path: Path) -> None:
    whole = "The visit of George W. Bush to Lima ended with a speech."
    assert whole in {row["sentence"] for row in rows_of(cleaned[0])}
    paper = build(tmp_path, *PAGES)
    assert "The visit of George W." in {row["sentence"] for row in rows_of(paper[0])}


def test_the_splits(cleaned: Built) -> None:
    folder, counts = cleaned
    splits = {name: pq.read_table(folder / f"en_{name}.parquet") for name in ("small", "earlier", "recent")}
    assert {name: table.num_rows for name, table in splits.items()} == counts["en"]["splits"]
    assert sorted(splits["small"]["category"].to_pylist()) == ["Sports"] * 4 + ["Weather"] * 4
    assert {day.year for day in splits["earlier"]["date"].to_pylist()} == {2019}
    assert {day.year for day in splits["recent"]["date"].to_pylist()} == {2023}
    dated = splits["earlier"].num_rows + splits["recent"].num_rows
    assert dated == sum(row["date"] is not None for row in rows_of(folder)) == 13


def test_the_licences_stand_in_rows_and_card(cleaned: Built) -> None:
    folder, counts = cleaned
    assert counts["en"]["licences"] == {"cc-by-2.5": 10, "cc-by-4.0": 5}
    _, front, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(front)["license"] == ["cc-by-2.5", "cc-by-4.0"]
    assert "| en | 2024-12-16 | cc-by-4.0 | yes | https://phabricator.wikimedia.org/T381421 |" in text
    assert "| duplicate | 1 |" in text


def test_texts_without_a_known_licence_are_not_for_publishing(tmp_path: Path) -> None:
    old = make_page(31, "Old", "It rained.\n\n[[Category:Weather]]", timestamp="2005-01-01T00:00:00Z")
    with pytest.raises(
        EaseError, match=r"licence of some sentences is not known \(en: 1\).*`for_publishing`"
    ):
        build(tmp_path, *PAGES, old, for_publishing=True)
    assert not (tmp_path / "mewsc16").exists()
    build(tmp_path, *PAGES, for_publishing=True)


@pytest.mark.parametrize(
    ("language", "day", "expected"),
    [
        ("en", date(2005, 9, 24), "unknown"),
        ("en", date(2005, 9, 25), "cc-by-2.5"),
        ("en", date(2024, 12, 15), "cc-by-2.5"),
        ("en", date(2024, 12, 16), "cc-by-4.0"),
        ("es", date(2025, 1, 29), "cc-by-2.5"),
        ("es", date(2025, 1, 30), "cc-by-4.0"),
        ("de", date(2026, 1, 1), "cc-by-2.5"),
        ("ru", date(2026, 1, 1), "cc-by-2.5"),
        ("fa", date(2026, 1, 1), "cc-by-sa-4.0"),
        ("sv", date(2026, 1, 1), "cc-by-sa-4.0"),
        ("ar", date(2025, 1, 1), "cc-by-sa-4.0"),
        ("en", None, "unknown"),
    ],
)
def test_the_licence_in_force(language: str, day: date | None, expected: str) -> None:
    assert licence_in_force(licence_history(language), day) == expected


LABELS = ["Sports"] * 50 + ["Weather"] * 8 + ["Health"] * 30


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (30, {"Sports": 11, "Weather": 8, "Health": 11}),
        (12, {"Sports": 4, "Weather": 4, "Health": 4}),
        (1000, {"Sports": 50, "Weather": 8, "Health": 30}),
    ],
)
def test_classes_are_of_equal_size_as_far_as_possible(limit: int, expected: dict[str, int]) -> None:
    drawn = balanced(LABELS, limit, seed=1)
    assert Counter(LABELS[place] for place in drawn) == expected
    assert sorted(set(drawn.tolist())) == drawn.tolist()


def test_a_sentence_without_a_category_is_named(tmp_path: Path) -> None:
    (tmp_path / "en_sentences.txt").write_text("It rained.\nIt snowed.\n")
    (tmp_path / "en_categories.txt").write_text("Weather\n \n")
    with pytest.raises(EaseError, match=r"en_categories\.txt, line 2: the category is blank"):
        clean_released(tmp_path, news_options(), tmp_path / "clean")
