"""The sample Wikinews as files: real dumps, reproducible."""

from __future__ import annotations

import bz2
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lxml import etree

from ease.sample import SampleNews, SampleNewsOptions, write_sample_news
from ease.wikimedia.dumps.files import read_siteinfo
from ease.wikimedia.languages import MEWSC16_LANGUAGES

SMALL = SampleNewsOptions(news_per_language=60)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _dump(files: SampleNews, language: str) -> Path:
    return files.wikinews / f"{language}wikinews-20240101-pages-articles-multistream.xml.bz2"


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_siteinfo_describes_a_wikinews(news_files: SampleNews, language: str) -> None:
    header = read_siteinfo(_dump(news_files, language))
    assert (header.language, header.dbname) == (language, f"{language}wikinews")
    root = etree.fromstring(bz2.decompress(_dump(news_files, language).read_bytes()))
    assert [int(namespace.get("key")) for namespace in root.iter("{*}namespace")] == list(range(-2, 16))
    assert root.findtext("{*}siteinfo/{*}base") == f"https://{language}.wikinews.org/wiki/"


def test_the_expected_results_list_each_page_of_each_dump(news_files: SampleNews) -> None:
    rows = pq.read_table(news_files.truth).to_pylist()
    assert len({path.name for path in news_files.wikinews.iterdir()}) == len(MEWSC16_LANGUAGES)
    for language in MEWSC16_LANGUAGES:
        root = etree.fromstring(bz2.decompress(_dump(news_files, language).read_bytes()))
        assert [
            (row["page_id"], row["revision_id"], row["namespace"], row["title"])
            for row in rows if row["language"] == language
        ] == [
            (
                int(page.findtext("{*}id")),
                int(page.findtext("{*}revision/{*}id")),
                int(page.findtext("{*}ns")),
                page.findtext("{*}title"),
            )
            for page in root.iterfind("{*}page")
        ]  # fmt: skip
    assert all((row["dropped"] is None) == (row["topic"] is not None) for row in rows)
    assert all((row["topic"] is None) == (row["first_sentence"] is None) for row in rows)


def test_equal_options_give_equal_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    languages = ["fa", "ja"]
    one = _contents(write_sample_news(tmp_path / "one", languages, SMALL).folder)
    two = _contents(write_sample_news(tmp_path / "two", languages[::-1], SMALL).folder)
    other = SMALL.model_copy(update={"seed": 1})
    third = _contents(write_sample_news(tmp_path / "one", languages, other).folder)
    assert one == two
    assert one.keys() == third.keys()
    assert all(one[name] != third[name] for name in one)
