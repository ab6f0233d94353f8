"""MewsC-16 from Wikinews dumps: which pages are used, and what is written."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from ease.sample import write_sample_news
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.wikinews.editions import WIKINEWS
from ease.wikimedia.wikinews.mewsc16 import build_mewsc16
from tests.project import ROOT
from tests.wikimedia.made_dumps import make_page
from tests.wikimedia.made_news import (
    article,
    build,
    dumps_in,
    news_options,
    rows_of,
    sentences_of,
    skipped,
    topics_of,
    write_news,
)

SPORTS = "[[Category:Sports]]"
KEYS = ("sentence", "category", "page_id", "revision_id")
CASES = {
    "plain": article(1, "It rained. It snowed."),
    "two topics": article(2, categories=f"[[Category:Weather]] {SPORTS}"),
    "no topic": article(3, categories="[[Category:News]]"),
    "redirect": make_page(4, "Rain", "#REDIRECT [[News 1]]", redirect="News 1"),
    "redirect that the dump does not name": make_page(
        5, "Rains", "#REDIRECT [[News 1]]\n[[Category:Weather]]"
    ),
    "category redirect": article(6, categories="[[Category:Sport]]"),
    "category redirect by a template": article(7, categories="[[Category:Ball games]]"),
    "redirect of a redirect": article(8, categories="[[Category:Football]]"),
    "sort key": article(9, categories="[[Category:Sports|Ball]]"),
    "lower case": article(10, categories="[[category:sports]]"),
    "underscores and spaces": article(11, categories="[[ Category:_Sports_ ]]"),
    "other categories, too": article(12, categories=f"[[Category:Lima]] {SPORTS} [[Category:Published]]"),
    "the same topic by two names": article(13, categories=f"{SPORTS} [[Category:Sport]]"),
    "commented category": article(14, categories=f"<!-- {SPORTS} -->[[Category:Weather]]"),
    "shown category": article(15, categories=f"<nowiki>{SPORTS}</nowiki> [[:Category:Sports]]"),
    "first sentence in a template": article(16, "{{lead|It rained.}}\n\nThen it snowed."),
    "template alone": article(17, "{{lead|It rained.}}"),
    "date line": article(18, "Tuesday, 3 May 2022\nIt rained."),
    "date alone": article(19, "May 3, 2022"),
    "archived": article(20, "It rained.", f"{SPORTS}\n{{{{archived|May 2022}}}}\n[[Category:Archived]]"),
    "blank": make_page(21, "Blank", " \n"),
    "category alone": make_page(22, "Bare", SPORTS),
    "talk": article(23, namespace=1),
    "template page": make_page(24, "Template:Weather", "It rained. [[Category:Weather]]", namespace=10),
    "script": article(25, model="Scribunto"),
    "category page": make_page(26, "Category:Sport", "#REDIRECT [[:Category:Sports]]", 14),
    "category page with a template": make_page(27, "Category:Ball games", "{{category redirect|Sports}}", 14),
    "category page that leads on": make_page(28, "Category:Football", "{{Category redirect|Sport}}", 14),
    "category page of a loop": make_page(29, "Category:Loop", "#REDIRECT [[:Category:Loop]]", 14),
    "category of a loop": article(30, categories="[[Category:Loop]]"),
}
KEPT = {**dict.fromkeys((1, 14, 16, 18), "Weather"), **dict.fromkeys((*range(6, 14), 20), "Sports")}
SKIPPED = {
    "several_topics": 1,
    "no_topic": 3,
    "redirect": 2,
    "no_sentence": 3,
    "empty": 1,
    "other_namespace": 6,
    "not_wikitext": 1,
}


def test_every_case(tmp_path: Path) -> None:
    made_set = build(tmp_path, *CASES.values())
    assert topics_of(made_set) == KEPT
    sentences = sentences_of(made_set)
    assert sentences.pop(16) == "Then it snowed."
    assert set(sentences.values()) == {"It rained."}
    counts = made_set[1]["en"]
    assert skipped(counts) == SKIPPED
    assert counts["pages"] == len(CASES) == counts["sentences"] + sum(counts["skipped"].values())
    assert counts["classes"] == {"Sports": 9, "Weather": 4}
    assert (counts["dropped_classes"], counts["faults"]) == ({}, [])


@pytest.mark.slow
def test_the_sample_is_read_as_written_in_all_languages(tmp_path: Path) -> None:
    sample = write_sample_news(tmp_path / "sample")
    rows = pq.read_table(sample.truth).to_pylist()
    languages = list(dict.fromkeys(row["language"] for row in rows))
    dumps = find_dumps(sample.wikinews, languages, "wikinews")
    configured = yaml.safe_load((ROOT / "conf/base/parameters/mewsc16.yml").read_text(encoding="utf-8"))[
        "mewsc16"
    ]
    names = ("topics", "category_redirects", "shown_templates")
    options = news_options(**{name: configured[name] for name in names})
    target = tmp_path / "made"
    counts = build_mewsc16(dumps, options, target, WIKINEWS)
    assert len(counts) == 16
    for language, of in counts.items():
        own = [row for row in rows if row["language"] == language]
        kept = [row for row in own if not row["dropped"]]
        assert [tuple(row[name] for name in KEYS) for row in rows_of(target, language)] == [
            *((row["first_sentence"], row["topic"], row["page_id"], row["revision_id"]) for row in kept)
        ]
        assert of["pages"] == len(own)
        reasons = Counter(row["dropped"].replace(" ", "_") for row in own if row["dropped"])
        left_out = Counter(skipped(of))
        left_out["no_topic"] += left_out.pop("empty")  # a blank page has none
        left_out["no_prose"] = left_out.pop("no_sentence")
        assert left_out == reasons


def test_a_row_has_its_source(tmp_path: Path) -> None:
    text = "{{date|May 3, 2022}}\nIt rained. [[Category:Weather]]"
    folder, _ = build(tmp_path, make_page(7, "rain_in Lima", text, timestamp="2024-12-20T10:00:00Z"))
    assert rows_of(folder) == [
        {
            "sentence": "It rained.",
            "category": "Weather",
            "page_id": 7,
            "title": "Rain in Lima",
            "revision_id": 1007,
            "revised": date(2024, 12, 20),
            "date": date(2022, 5, 3),
            "dump_date": "20240501",
            "licence": "cc-by-4.0",
        }
    ]


def test_small_classes_are_dropped_in_each_language_and_counted(tmp_path: Path) -> None:
    write_news(tmp_path, *(article(number) for number in range(1, 4)), article(9, categories=SPORTS))
    german = "[[Kategorie:Themenportal Sport]]"
    write_news(tmp_path, *(article(number, categories=german) for number in range(1, 4)), language="de")
    target = tmp_path / "made"
    counts = build_mewsc16(dumps_in(tmp_path, "en", "de"), news_options(min_class_size=3), target, WIKINEWS)
    found = {code: (of["classes"], of["dropped_classes"], skipped(of)) for code, of in counts.items()}
    assert found == {
        "en": ({"Weather": 3}, {"Sports": 1}, {"small_class": 1}),
        "de": ({"Sports": 3}, {}, {}),
    }
    assert {row["category"] for row in rows_of(target)} == {"Weather"}
