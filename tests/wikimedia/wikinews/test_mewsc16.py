"""MewsC-16 from Wikinews dumps: which pages are used, what is written, and how the cleaned edition differs."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
import yaml

from ease.errors import EaseError
from ease.wikimedia.wikinews import editions
from ease.wikimedia.wikinews.editions import WIKINEWS, balanced, clean_released, licence_history, licence_in_force
from ease.wikimedia.wikinews.mewsc16 import build_mewsc16, read_categories
from ease.wikimedia.wikitext.titles import SiteInfo
from tests.wikimedia.made_dumps import make_page
from tests.wikimedia.made_news import article, build, dumps_in, news_options, rows_of, skipped, write_news

SPORTS = "[[Category:Sports]]"
CASES = {
    "plain": article(1, "It rained. It snowed."),
    "two topics": article(2, categories=f"[[Category:Weather]] {SPORTS}"),
    "no topic": article(3, categories="[[Category:News]]"),
    "redirect": make_page(4, "Rain", "#REDIRECT [[News 1]]", redirect="News 1"),
    "redirect that the dump does not name": make_page(5, "Rains", "#REDIRECT [[News 1]]\n[[Category:Weather]]"),
    "category redirect": article(6, categories="[[Category:Sport]]"),
    "category redirect by a template": article(7, categories="[[Category:Ball games]]"),
    "redirect of a redirect": article(8, categories="[[Category:Football]]"),
    "underscores and spaces": article(9, categories="[[ category:_sports_ |Ball]]"),
    "the same topic by two names": article(10, categories=f"[[Category:Lima]] {SPORTS} [[Category:Sport]]"),
    "commented category": article(11, categories=f"<!-- {SPORTS} -->[[Category:Weather]]"),
    "shown category": article(12, categories=f"<nowiki>{SPORTS}</nowiki> [[:Category:Sports]]"),
    "first sentence in a template": article(13, "{{lead|It rained.}}\n\nThen it snowed."),
    "template alone": article(14, "{{lead|It rained.}}"),
    "date line": article(15, "Tuesday, 3 May 2022\nIt rained."),
    "date alone": article(16, "May 3, 2022"),
    "blank": make_page(17, "Blank", " \n"),
    "talk": article(18, namespace=1),
    "script": article(19, model="Scribunto"),
    "category page": make_page(20, "Category:Sport", "#REDIRECT [[:Category:Sports]]", 14),
    "category page with a template": make_page(
        21, "Category:Ball games", "{{category_redirect| 1 = :Category:sports |reason=none}}", 14
    ),
    "category page that leads on": make_page(22, "Category:Football", "{{Category redirect|Sport}}", 14),
    "category page of a loop": make_page(23, "Category:Loop", "#REDIRECT [[:Category:Loop]]", 14),
    "category of a loop": article(24, categories="[[Category:Loop]]"),
}
KEPT = {**dict.fromkeys((1, 11, 13, 15), "Weather"), **dict.fromkeys(range(6, 11), "Sports")}
SKIPPED = Counter(several_topics=1, no_topic=3, redirect=2, no_sentence=2, empty=1, other_namespace=5, not_wikitext=1)


def test_every_case(tmp_path: Path) -> None:
    folder, counts = build(tmp_path, *CASES.values())
    rows = rows_of(folder)
    assert {row["page_id"]: row["category"] for row in rows} == KEPT
    assert {row["sentence"] for row in rows} == {"It rained.", "Then it snowed."}
    english = counts["en"]
    assert skipped(english) == SKIPPED
    assert english["pages"] == len(CASES) == english["sentences"] + sum(english["skipped"].values())
    assert english["classes"] == {"Sports": 5, "Weather": 4}
    assert (english["dropped_classes"], english["faults"]) == ({}, [])


ENGLISH, TURKISH = SiteInfo("en"), SiteInfo("tr", namespaces={"kategori": 14})


@pytest.mark.parametrize(
    ("site", "source", "expected"),
    [
        (ENGLISH, "[[Category:R&amp;B]] [[Category:A%20b]]", ["R&B", "A b"]),
        (ENGLISH, "[[Category:Star Trek: Picard]]", ["Star Trek: Picard"]),
        (ENGLISH, "[[en:Category:Sports]]", ["Sports"]),
        (ENGLISH, "{{box|text=[[Category:Sports]]}}", ["Sports"]),
        (TURKISH, "[[Kategori:istanbul]]", ["İstanbul"]),
        (ENGLISH, "[[:Category:Sports]] [[Sports]] [[w:Category:Sports]] [[de:Kategorie:Sport]]", []),
        (ENGLISH, "[[Category:]] [[Category:#Sports]] [[Kategorie:Sport]]", []),
    ],
)
def test_categories_of_a_page(site: SiteInfo, source: str, expected: list[str]) -> None:
    assert read_categories(source, site) == expected


def test_a_row_has_its_source(tmp_path: Path) -> None:
    text = "{{date|May 3, 2022}}\nIt rained. [[Category:Weather]]"
    folder, _ = build(tmp_path, make_page(7, "rain_in Lima", text, timestamp="2024-12-20T10:00:00Z"))
    (row,) = rows_of(folder)
    assert row == {
        **{"sentence": "It rained.", "category": "Weather", "title": "Rain in Lima", "page_id": 7, "revision_id": 1007},
        **{"revised": date(2024, 12, 20), "date": date(2022, 5, 3), "dump_date": "20240501", "licence": "cc-by-4.0"},
    }


def test_small_classes_are_dropped_in_each_language_and_counted(tmp_path: Path) -> None:
    write_news(tmp_path, *(article(number) for number in range(1, 4)), article(9, categories=SPORTS))
    german = "[[Kategorie:Themenportal Sport]]"
    write_news(tmp_path, *(article(number, categories=german) for number in range(1, 4)), language="de")
    target = tmp_path / "made"
    counts = build_mewsc16(dumps_in(tmp_path, "en", "de"), news_options(min_class_size=3), target, WIKINEWS)
    assert {code: (of["classes"], of["dropped_classes"], skipped(of)) for code, of in counts.items()} == {
        "en": ({"Weather": 3}, {"Sports": 1}, {"small_class": 1}),
        "de": ({"Sports": 3}, {}, {}),
    }
    assert {row["category"] for row in rows_of(target)} == {"Weather"}


def test_a_page_of_two_files_is_used_once(tmp_path: Path) -> None:
    first = write_news(tmp_path, article(5, "It rained first."), article(2))
    second = first.with_name("enwikinews-20240501-pages-articles-multistream2.xml.bz2")
    first.rename(first.with_name("enwikinews-20240501-pages-articles-multistream1.xml.bz2"))
    write_news(tmp_path, article(5, "It rained again."), article(1)).rename(second)
    counts = build_mewsc16(dumps_in(tmp_path, "en"), news_options(), tmp_path / "made", WIKINEWS)
    sentences = [(row["page_id"], row["sentence"]) for row in rows_of(tmp_path / "made")]
    assert sentences == [(1, "It rained."), (2, "It rained."), (5, "It rained first.")]
    assert skipped(counts["en"]) == {"repeated": 1}


@pytest.mark.slow
def test_the_files_depend_neither_on_workers_nor_on_shards(tmp_path: Path) -> None:
    german = [article(number, "Es regnete.", "[[Kategorie:Themenportal Wetter]]") for number in range(1, 12)]
    write_news(tmp_path / "dumps", *(article(number) for number in range(1, 12)))
    write_news(tmp_path / "dumps", *german, language="de")
    dumps = dumps_in(tmp_path / "dumps", "en", "de")
    made_with = []
    for workers, size in ((1, 1 << 30), (2, 3000)):
        options, folder = news_options(workers=workers, bytes_per_shard=size), tmp_path / f"{workers}"
        counts = build_mewsc16(dumps, options, folder, WIKINEWS)
        made_with.append((counts, {path.name: path.read_bytes() for path in folder.iterdir()}))
    assert made_with[0] == made_with[1]


def test_faults_of_the_topics(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="`topics` names no category in en: add its names, or"):
        build(tmp_path, article(1), topics={"Weather": {"de": "Wetter"}})
    topics = {"Weather": {"en": "weather"}, "Climate": {"en": "Weather"}}
    with pytest.raises(EaseError, match="gives Weather and Climate the same category 'Weather' in en"):
        build(tmp_path, article(1), topics=topics)


def news(page_id: int, topic: str, **page: str) -> str:
    """Return an article with a date line of 2019 or 2023, and a sentence of its own."""
    sentence = f"The {topic.lower()} of that month made news for the {page_id}th time, said officials there."
    text = f"{{{{date|May {page_id}, {(2019, 2023)[page_id % 2]}}}}}\n{sentence}"
    return make_page(page_id, f"News {page_id}", f"{text}\n\n[[Category:{topic}]]", **page)


PAGES = [
    *(news(number, "Weather") for number in range(1, 9)),
    *(news(number, "Sports", timestamp="2025-03-01T00:00:00Z") for number in range(11, 16)),
    article(21, "The visit of George W. Bush to Lima ended with a speech. It rained."),
    article(22, "It rained."),
    article(23, "The ministers of nine countries met in Lima to talk about the rain."),
    article(24, "The ministers of nine countries met in Lima to talk about the rain!"),
]


@patch.object(editions, "_SMALL", 8)
@patch.object(editions, "_SIMILARITY", 0.98)
def test_the_clean_edition_its_counts_splits_and_card(tmp_path: Path) -> None:
    folder, counts = build(tmp_path / "clean", *PAGES, edition="clean")
    english, rows = counts["en"], rows_of(folder)
    assert Counter(english["removed"]) == Counter(short=1, duplicate=1)
    assert english["pages"] == len(PAGES) == english["sentences"] + sum(english["skipped"].values())
    assert len({row["sentence"] for row in rows}) == english["sentences"] == len(PAGES) - 2
    assert "The visit of George W. Bush to Lima ended with a speech." in {row["sentence"] for row in rows}
    paper, _ = build(tmp_path / "paper", *PAGES)
    assert "The visit of George W." in {row["sentence"] for row in rows_of(paper)}

    splits = {name: pq.read_table(folder / f"en_{name}.parquet") for name in ("small", "earlier", "recent")}
    assert {name: table.num_rows for name, table in splits.items()} == english["splits"]
    assert sorted(splits["small"]["category"].to_pylist()) == ["Sports"] * 4 + ["Weather"] * 4
    dates = [[day.year for day in splits[name]["date"].to_pylist()] for name in ("earlier", "recent")]
    assert list(map(set, dates)) == [{2019}, {2023}]
    assert sum(map(len, dates)) == sum(row["date"] is not None for row in rows) == 13

    assert english["licences"] == {"cc-by-2.5": 10, "cc-by-4.0": 5}
    _, front, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    assert (card["language"], card["license"]) == (["en"], ["cc-by-2.5", "cc-by-4.0"])
    paths = [split["path"] for config in card["configs"] for split in config["data_files"]]
    assert all(pq.read_table(folder / path).num_rows for path in paths)
    for part in (
        *("fewer than\n1 articles", "| Sports | 5 |", "| sentences | 15 |", "| duplicate | 1 |"),
        "| en | enwikinews-20240501-pages-articles-multistream.xml.bz2 | 20240501 | no |",
        "| en | 2024-12-16 | cc-by-4.0 | yes | https://phabricator.wikimedia.org/T381421 |",
        "?oldid={revision_id}",
    ):
        assert part in text


def test_texts_without_a_known_licence_are_not_for_publishing(tmp_path: Path) -> None:
    old = make_page(31, "Old", "It rained.\n\n[[Category:Weather]]", timestamp="2005-01-01T00:00:00Z")
    with pytest.raises(EaseError, match=r"licence of some sentences is not known \(en: 1\).*`for_publ"):
        build(tmp_path, *PAGES, old, for_publishing=True)
    assert not (tmp_path / "mewsc16").exists()


def test_the_licence_in_force() -> None:
    days = {"en": (date(2005, 9, 25), date(2024, 12, 16), None), "de": (date(2026, 1, 1),)}
    licences = {
        code: [licence_in_force(licence_history(code), day) for day in language_days]
        for code, language_days in days.items()
    }
    assert licences == {"en": ["cc-by-2.5", "cc-by-4.0", "unknown"], "de": ["cc-by-2.5"]}


def test_classes_are_of_equal_size_as_far_as_possible() -> None:
    labels = ["Sports"] * 50 + ["Weather"] * 8 + ["Health"] * 30
    for limit, sizes in ((30, (11, 8, 11)), (12, (4, 4, 4)), (1000, (50, 8, 30))):
        places = balanced(labels, limit, seed=1).tolist()
        counts = Counter(labels[place] for place in places)
        assert (counts["Sports"], counts["Weather"], counts["Health"]) == sizes
        assert sorted(set(places)) == places


def test_a_sentence_without_a_category_is_named(tmp_path: Path) -> None:
    (tmp_path / "en_sentences.txt").write_text("It rained.\nIt snowed.\n")
    (tmp_path / "en_categories.txt").write_text("Weather\n \n")
    with pytest.raises(EaseError, match=r"en_categories\.txt, line 2: the category is blank"):
        clean_released(tmp_path, news_options(), tmp_path / "clean", ["en"])
