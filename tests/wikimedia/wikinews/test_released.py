"""Cleaning of the published files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia.wikinews.editions import clean_released
from tests.wikimedia.made_news import news_options

LANGUAGES = ["ar", "ca", "cs", "en", "eo", "es", "fr", "ja", "ko", "pt", "ru", "sv"]


@pytest.mark.slow
def test_the_published_files_are_cleaned_in_all_languages(test_data: Path, tmp_path: Path) -> None:
    options = news_options(edition="clean", min_class_size=10)
    counts = clean_released(test_data / "eval" / "mewsc16", options, tmp_path / "clean")
    assert sorted(counts) == LANGUAGES
    for language, found in counts.items():
        table = pq.read_table(tmp_path / "clean" / f"{language}.parquet")
        assert table.num_rows == found["sentences"] == found["pages"] - sum(found["removed"].values())
        assert set(table["licence"].to_pylist()) == {"unknown"}
        assert min(found["classes"].values()) >= 10
        assert found["splits"]["small"] <= 2048
    assert counts["ca"]["removed"]["duplicate"] > 1000
    assert counts["ja"]["sentences"] > 1800
    assert "license: unknown" in (tmp_path / "clean" / "README.md").read_text(encoding="utf-8")


def test_a_sentence_without_a_category_is_named(tmp_path: Path) -> None:
    (tmp_path / "en_sentences.txt").write_text("It rained.\nIt snowed.\n")
    (tmp_path / "en_categories.txt").write_text("Weather\n \n")
    with pytest.raises(EaseError, match=r"en_categories\.txt, line 2: the category is blank"):
        clean_released(tmp_path, news_options(), tmp_path / "clean")
