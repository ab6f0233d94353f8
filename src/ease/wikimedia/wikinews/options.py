"""Options of making MewsC-16."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.wikinews.cleaning import CleaningOptions
from ease.wikimedia.wikinews.splits import SplitOptions


class NewsOptions(IngestOptions):
    """How Wikinews dumps are read, and which pages are used."""

    min_class_size: int = Field(10, ge=1, description="a language's topics with fewer pages are dropped")
    topics: dict[str, dict[str, str]] = Field(
        min_length=1, description="name of each topic's category in each language"
    )
    category_redirects: tuple[str, ...] = Field(
        (), description="templates on a category's page that redirect it to another category"
    )
    shown_templates: tuple[str, ...] = Field(
        (), description="templates whose text is their second argument or else their first"
    )
    edition: Literal["paper", "clean"] = Field(
        "paper",
        description="paper: as appendix E describes it; clean: without repeated, cut and ambiguous sentences",
    )
    cleaning: CleaningOptions = Field(CleaningOptions(), description="what the edition `clean` removes")
    splits: SplitOptions = Field(SplitOptions(), description="splits of the edition `clean`")
    for_publishing: bool = Field(
        False, description="refuse to make a data set with texts whose licence is not known"
    )
