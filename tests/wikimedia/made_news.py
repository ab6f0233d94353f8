"""Synthetic Wikinews dumps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.wikinews.editions import WIKINEWS, NewsOptions
from ease.wikimedia.wikinews.mewsc16 import build_mewsc16
from tests.wikimedia.made_dumps import as_streams, make_export, make_page

TOPICS = {
    "Sports": {"en": "Sports", "de": "Themenportal Sport", "ar": "رياضة", "tr": "Spor", "ja": "スポーツ"},
    "Weather": {"en": "Weather", "de": "Themenportal Wetter", "ar": "طقس", "tr": "Hava durumu", "ja": "気象"},
    "Health": {"en": "Health", "de": "Themenportal Gesundheit"},
}
CATEGORY_NAMES = {"en": "Category", "de": "Kategorie", "ar": "تصنيف", "tr": "Kategori", "ja": "カテゴリ"}
Built = tuple[Path, dict[str, dict[str, Any]]]


def news_options(**options: Any) -> NewsOptions:
    """Return options for tests; by default no topic is too small."""
    defaults = {"topics": TOPICS, "min_class_size": 1, "workers": 1, "category_redirects": ["Category redirect"]}
    return NewsOptions.model_validate({**defaults, **options})


def write_news(folder: Path, *pages: str, language: str = "en", date: str = "20240501") -> Path:
    """Write a dump in two streams, with the wiki's own name of the category namespace."""
    export = make_export(pages, language).replace(f"<dbname>{language}wiki<", f"<dbname>{language}wikinews<")
    namespace = f'<namespace key="14" case="first-letter">{CATEGORY_NAMES[language]}</namespace>'
    head, start, rest = export.replace("    </namespaces>", f"      {namespace}\n    </namespaces>").partition(
        "  <page>"
    )
    path = folder / f"{language}wikinews-{date}-pages-articles-multistream.xml.bz2"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_streams([head.encode(), (start + rest).encode()]))
    return path


def dumps_in(folder: Path, *languages: str) -> list[DumpFile]:
    return find_dumps(folder, languages, "wikinews")


def build(folder: Path, *pages: str, language: str = "en", **options: Any) -> Built:
    write_news(folder / "dumps", *pages, language=language)
    target = folder / "mewsc16"
    return target, build_mewsc16(dumps_in(folder / "dumps", language), news_options(**options), target, WIKINEWS)


def rows_of(folder: Path, language: str = "en") -> list[dict[str, Any]]:
    return pq.read_table(folder / f"{language}.parquet").to_pylist()


def article(page_id: int, text: str = "It rained.", categories: str = "[[Category:Weather]]", **page: Any) -> str:
    """Return a page with its categories at the end, as on Wikinews."""
    return make_page(page_id, f"News {page_id}", f"{text}\n\n{categories}", **page)


def skipped(counts: Mapping[str, Any]) -> dict[str, int]:
    return {reason: number for reason, number in counts["skipped"].items() if number}
