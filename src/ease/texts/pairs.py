"""Training texts from the setting's training pairs: the sentences that EASE is trained on, without the entities."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from ease.errors import EaseError
from ease.texts.components.sources import BATCH_ROWS, SourceOptions, SourceTexts, Workspace

PREPARATION = "acquire,acquire_evaluation,ingest,entity_pairs,hard_negatives,entity_embeddings"
"""Tags of the pipelines that make a setting's training pairs and the other inputs of its training runs"""

_SCHEMA = pa.schema([("key", pa.int64()), ("sentence", pa.string())])


class PairSentenceOptions(SourceOptions):
    """The options that all kinds have."""

    title: ClassVar[str] = "Sentences of training pairs"
    reads_pairs: ClassVar[bool] = True

    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return each pair's sentence, ordered by `pair_id`; a sentence with several pairs occurs several times."""
        pairs = workspace.pairs
        if pairs is None:
            raise EaseError(
                "`data` of kind 'pairs' needs the setting's training pairs, and there are none: make them by `kedro "
                f"run --pipelines=train_multilingual --tags={PREPARATION}`, or of `train_monolingual`."
            )
        sentences = pairs.select(key=pairs.pair_id, sentence=pairs.sentence)
        # Copied to a file, as the pairs may be on another engine.
        table = workspace.store_batches(sentences.to_pyarrow_batches(chunk_size=BATCH_ROWS), _SCHEMA)
        return SourceTexts(table, {"read": int(table.count().execute())})
