"""mSimCSE (Wang et al. 2022, section 3.2): SimCSE on texts of one or several languages, or on mixtures of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field
from sentence_transformers import SentenceTransformer

from ease.methods.base import POSITIVE, SENTENCE, Derive, Reads
from ease.methods.supervised_simcse import SupervisedSimcse, SupervisedSimcseOptions


class MsimcseOptions(SupervisedSimcseOptions):
    """Parameters of mSimCSE."""

    strategy: Literal["unsupervised", "english_nli", "cross_lingual_nli", "parallel", "mined", "mixture"] = Field(
        "english_nli",
        description="kind of training texts; only `unsupervised` and `mixture` accept rows without a positive",
    )


class Msimcse(SupervisedSimcse[MsimcseOptions]):
    """mSimCSE; the positive of a row without one is the sentence itself under another dropout mask."""

    Options = MsimcseOptions

    @classmethod
    def reads(cls, options: MsimcseOptions) -> Reads:
        """Require positives unless the strategy has rows without one."""
        reads = super().reads(options)
        if options.strategy in ("unsupervised", "mixture"):
            return reads._replace(required=(SENTENCE,))
        return reads

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Use the sentence as its own positive if positives are not required."""
        derived = super().derived_columns(encoder, seed)
        if POSITIVE in self.reads(self.options).required:
            return derived
        return {**derived, POSITIVE: lambda sentences, rows: sentences}
