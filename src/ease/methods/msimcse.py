"""mSimCSE (Wang et al. 2022, section 3.2): SimCSE over texts of one or several languages, or mixtures of them."""

from __future__ import annotations

from collections.abc import Mapping

from sentence_transformers import SentenceTransformer

from ease.methods.base import SENTENCE, Derive
from ease.methods.supervised_simcse import POSITIVE, SupervisedSimcse


class Msimcse(SupervisedSimcse):
    """mSimCSE: a row without a positive is unsupervised, its positive being itself under another dropout mask.

    What the rows are is the data's choice: sentences alone, NLI triplets in English or in languages drawn at
    random, parallel sentences, or mixtures.
    """

    summary = (
        "mSimCSE brings a sentence close to its own encoding under another dropout mask, to one that it entails or "
        "to its translation, and away from one that contradicts it and from the other sentences of the batch."
    )
    name = "mSimCSE"
    required = (SENTENCE,)

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Let a sentence without a positive be its own, and texts without hard negatives have none."""
        return {**super().derived_columns(encoder, seed), POSITIVE: lambda sentences, rows: sentences}
