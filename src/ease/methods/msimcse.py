"""mSimCSE (Wang et al. 2022, section 3.2): SimCSE over texts of one or several languages, or mixtures of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field
from sentence_transformers import SentenceTransformer

from ease.methods.base import SENTENCE, Derive
from ease.methods.supervised_simcse import POSITIVE, SupervisedSimcse, SupervisedSimcseOptions


class MsimcseOptions(SupervisedSimcseOptions):
    """Parameters of mSimCSE."""

    strategy: Literal["unsupervised", "english_nli", "cross_lingual_nli", "parallel", "mixture"] = Field(
        "mixture",
        description="what the rows are, for each of which the recipe has its `data`; but for `unsupervised` and "
        "`mixture`, a row without a positive is refused",
    )


class Msimcse(SupervisedSimcse):
    """mSimCSE: a row without a positive is unsupervised, its positive being itself under another dropout mask."""

    Options = MsimcseOptions
    title = "mSimCSE"
    summary = (
        "mSimCSE brings a sentence close to its own encoding under another dropout mask, to one that it entails or "
        "to its translation, and away from the other sentences of the batch."
    )
    negatives_summary = "Sentences that contradict it are hard negatives."
    name = "mSimCSE"

    def __init__(self, options: MsimcseOptions) -> None:
        """Require what the strategy's rows all have."""
        super().__init__(options)
        if options.strategy in ("unsupervised", "mixture"):
            self.required = (SENTENCE,)

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Let a sentence without a positive be its own where that may be; a text without a negative has none."""
        derived = super().derived_columns(encoder, seed)
        if POSITIVE in self.required:
            return derived
        return {**derived, POSITIVE: lambda sentences, rows: sentences}
