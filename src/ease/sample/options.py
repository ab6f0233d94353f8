"""What the sample wikis may be asked for."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SampleOptions(BaseModel):
    """Size and seed of the sample wiki; the same options give the same bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(default=0, ge=0, description="Draws facts, templates and the layout of the pages.")
    territories: int = Field(
        default=243,
        ge=22,
        le=243,
        description="Territories to write about, taken in turn from the UN's regions. Their currencies, "
        "languages, scripts and regions come along, so this sets the number of entities.",
    )
    sentences_per_language: int = Field(
        default=2400,
        ge=50,
        le=200_000,
        description="Sentences in each wiki's articles. An article has at least one, so that a number below "
        "the number of entities gives one sentence an article.",
    )
    parallel_facts: int = Field(
        default=300, ge=1, description="Facts kept out of the dumps and worded in every language."
    )
    graded_pairs: int = Field(
        default=300, ge=6, description="Kept-out English sentence pairs with a similarity score of 0 to 5."
    )
    graded_territories: int = Field(
        default=40, ge=6, description="Territories whose kept-out facts the graded pairs are about."
    )
    nli_premises: int = Field(
        default=1500, ge=1, description="Premises of inferences in every language; fewer where facts are."
    )
    parallel_train_facts: int = Field(
        default=1500,
        ge=1,
        description="Told facts stated in every language to train on; fewer where facts are.",
    )
    pages_per_stream: int = Field(
        default=100, ge=1, description="Pages in each bz2 stream of a dump (Wikipedia's own dumps: 100)."
    )


class SampleNewsOptions(BaseModel):
    """Size and seed of the sample Wikinews; the same options give the same bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(
        default=0, ge=0, description="Draws what the articles tell and the layout of the pages."
    )
    news_per_language: int = Field(
        default=150,
        ge=60,
        le=10_000,
        description="Articles in each wiki, those that a reader must drop included. Below 150 fewer classes "
        "have ten pages.",
    )
    pages_per_stream: int = Field(
        default=100, ge=1, description="Pages in each bz2 stream of a dump (Wikimedia's own dumps: 100)."
    )
