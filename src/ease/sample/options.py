"""Parameters of the sample wikis."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ease.io.models import StrictModel


class SampleOptions(StrictModel):
    """Size and seed of the sample wiki; the same options give the same bytes."""

    seed: int = Field(default=0, ge=0, description="seed of facts, templates and page layouts")
    territories: int = Field(
        default=243,
        ge=22,
        le=243,
        description="territories to write about, chosen in turn from the UN's regions; their currencies, languages, "
        "scripts and regions are added, so this number determines the number of entities",
    )
    sentences_per_language: int = Field(
        default=2400,
        ge=50,
        le=200_000,
        description="sentences in each wiki's articles, at least one per article",
    )
    parallel_facts: int = Field(
        default=300, ge=1, description="facts held out of the dumps and worded in every language"
    )
    graded_pairs: int = Field(
        default=300, ge=6, description="held-out English sentence pairs with a similarity score of 0 to 5"
    )
    graded_territories: int = Field(
        default=40, ge=6, description="territories whose held-out facts the graded pairs are about"
    )
    nli_premises: int = Field(
        default=1500,
        ge=1,
        description="premises of inferences in every language, as far as the facts suffice",
    )
    parallel_train_facts: int = Field(
        default=1500,
        ge=1,
        description="training facts worded in every language, as far as the facts suffice",
    )
    layout: Literal["articles", "content"] = Field(
        default="articles",
        description="articles dumps, or content exports of all namespaces in several files; the same rows",
    )
    pages_per_stream: int = Field(
        default=100, ge=1, description="pages in each bz2 stream of an articles dump (Wikipedia's own: 100)"
    )


class SampleNewsOptions(StrictModel):
    """Size and seed of the sample Wikinews; the same options give the same bytes."""

    seed: int = Field(default=0, ge=0, description="seed of the stories and page layouts")
    news_per_language: int = Field(
        default=150,
        ge=60,
        le=10_000,
        description="articles in each wiki, including those that a reader must drop; below 150, fewer classes have "
        "ten pages",
    )
    pages_per_stream: int = Field(
        default=100, ge=1, description="pages in each bz2 stream of a dump (Wikimedia's own dumps: 100)"
    )
