"""Names and first sentences of articles about the same items, in the language and a companion."""

from __future__ import annotations

from ease.entities.translations import find_translations
from ease.lazy import DataFrame, Table
from ease.pipelines.setting import Setting
from ease.pipelines.teach.setting import pivot_of

PAIR_CHARACTERS = 300
"""Characters of a first sentence, more than the shortest encoder reads"""


def find_name_pairs(sentences: Table, sitelinks: Table, setting: Setting, language: str) -> DataFrame:
    """Return what articles of the language and a companion say of the same items, always in the same order."""
    translations = find_translations(sentences, sitelinks, language, pivot_of(setting.languages))
    return translations.order_by("kind", "entity", "text").to_pandas()


def text_pairs(translations: DataFrame) -> list[tuple[str, str]]:
    """Return texts with their translations, cut to what distinguishes them."""
    texts = translations["text"].str.slice(0, PAIR_CHARACTERS)
    return list(zip(texts, translations["translation"].str.slice(0, PAIR_CHARACTERS), strict=True))
