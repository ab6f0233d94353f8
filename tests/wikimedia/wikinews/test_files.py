"""The files of MewsC-16, and broken dumps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from ease.errors import EaseError
from ease.evaluation.tasks import get_task
from ease.wikimedia.wikinews.editions import WIKINEWS
from ease.wikimedia.wikinews.mewsc16 import build_mewsc16
from tests.wikimedia.made_news import (
    article,
    build,
    dumps_in,
    news_options,
    rows_of,
    skipped,
    write_news,
)

mewsc16 = get_task("mewsc16")

SPORTS = "[[Category:Sports]]"
PAGES = [
    *(article(number) for number in range(1, 5)),
    *(article(number, "They won.", SPORTS) for number in range(5, 12)),
    article(12, categories="[[Category:News]]"),
]


def test_the_evaluation_task_reads_both_forms(tmp_path: Path) -> None:
    folder, _ = build(tmp_path, *PAGES)
    options = mewsc16.options(path=folder, subsets=("en",))
    table = mewsc16.read(options, "en", mewsc16.files(options)["en"])
    (folder / "en.parquet").unlink()
    text = mewsc16.read(options, "en", mewsc16.files(options)["en"])
    assert list(table.texts) == list(text.texts)
    assert list(table.labels) == list(text.labels)
    assert len(table.texts) == 11


def test_a_page_of_two_files_is_used_once(tmp_path: Path) -> None:
    first = write_news(tmp_path, article(5, "It rained first."), article(2))
    second = first.with_name("enwikinews-20240501-pages-articles-multistream2.xml.bz2")
    first.rename(first.with_name("enwikinews-20240501-pages-articles-multistream1.xml.bz2"))
    write_news(tmp_path, article(5, "It rained again."), article(1)).rename(second)
    target = tmp_path / "made"
    counts = build_mewsc16(dumps_in(tmp_path, "en"), news_options(), target, WIKINEWS)
    assert [(row["page_id"], row["sentence"]) for row in rows_of(target)] == [
        (1, "It rained."),
        (2, "It rained."),
        (5, "It rained first."),
    ]
    assert skipped(counts["en"]) == {"repeated": 1}


def contents(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_the_files_depend_neither_on_workers_nor_on_shards(tmp_path: Path) -> None:
    write_news(tmp_path / "dumps", *PAGES)
    german = [article(number, "Es regnete.", "[[Kategorie:Themenportal Wetter]]") for number in range(1, 12)]
    write_news(tmp_path / "dumps", *german, language="de")
    dumps = dumps_in(tmp_path / "dumps", "en", "de")
    made_with: list[tuple[Mapping[str, bytes], Any]] = []
    for workers, size in ((1, 1 << 30), (2, 3000)):
        options = news_options(workers=workers, bytes_per_shard=size)
        counts = build_mewsc16(dumps, options, tmp_path / f"{workers}", WIKINEWS)
        made_with.append((contents(tmp_path / f"{workers}"), counts))
    assert made_with[0] == made_with[1]


def test_the_card(tmp_path: Path) -> None:
    folder, _ = build(tmp_path, *PAGES, min_class_size=6)
    _, front, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    assert (card["language"], card["license"]) == (["en"], "cc-by-2.5")
    for config in card["configs"]:
        (split,) = config["data_files"]
        assert pq.read_table(folder / split["path"]).num_rows == 7
    for part in (
        "fewer than\n6 articles",
        "| Sports | 7 |",
        "| sentences | 7 |",
        "| en | enwikinews-20240501-pages-articles-multistream.xml.bz2 | 20240501 | no |",
        "| en | 2005-09-25 | cc-by-2.5 | yes |",
        "?oldid={revision_id}",
    ):
        assert part in text


def test_faults_of_the_topics(tmp_path: Path) -> None:
    with pytest.raises(
        EaseError, match="`topics` names no category in en: add its names, give `langlinks`, or remove"
    ):
        build(tmp_path, article(1), topics={"Weather": {"de": "Wetter"}})
    topics = {"Weather": {"en": "weather"}, "Climate": {"en": "Weather"}}
    with pytest.raises(
        EaseError, match="`topics` gives Weather and Climate the same category 'Weather' in en"
    ):
        build(tmp_path, article(1), topics=topics)
