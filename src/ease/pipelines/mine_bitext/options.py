"""Options of `mine_bitext`."""

from __future__ import annotations

from pydantic import Field

from ease.entities.bitext import CandidateOptions
from ease.io.models import Words
from ease.texts.bitext.mining import MiningOptions


class BitextOptions(CandidateOptions, MiningOptions):
    """Which sentences are compared, by which encoder, and which count as parallel."""

    languages: Words | None = Field(
        None, min_length=1, description="languages to compare; null: all languages of the setting"
    )
    encoder: str | None = Field(
        None,
        min_length=1,
        description="a hub name, a folder, or a text file of word vectors; null: the setting's newest encoder of "
        "`ease_plus`",
    )
    licence: str | None = Field(
        None,
        min_length=1,
        description="licence of the sentences, as the hub names it; null: Wikipedia's, by the dump's date",
    )
