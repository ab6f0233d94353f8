"""Training texts from the setting's training pairs: the sentences that EASE is trained on, without the entities."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from ease.errors import EaseError
from ease.texts.components.sources import BATCH_ROWS, Source, SourceOptions, Workspace

PREPARATION = "acquire,acquire_evaluation,ingest,entity_pairs,hard_negatives,entity_embeddings"
"""Tags of the pipelines that make a setting's training pairs and what else its trainings read"""

_SCHEMA = pa.schema([("key", pa.int64()), ("sentence", pa.string())])


class Options(SourceOptions):
    """The options that all kinds have."""

    title: ClassVar[str] = "Sentences of training pairs"
    reads_pairs: ClassVar[bool] = True


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return every pair's sentence, in the order of `pair_id`; a sentence with several pairs occurs several times."""
    if workspace.pairs is None:
        raise EaseError(
            "`data` of kind 'pairs' needs the setting's training pairs, and there are none: make them by `kedro run "
            f"--pipelines=train_multilingual --tags={PREPARATION}`, or of `train_monolingual`."
        )
    chosen = workspace.pairs.select(key=workspace.pairs.pair_id, sentence=workspace.pairs.sentence)
    # Copied to a file, as the pairs may be on another engine.
    table = workspace.store_batches(chosen.to_pyarrow_batches(chunk_size=BATCH_ROWS), _SCHEMA)
    return Source(table, {"read": int(table.count().execute())})
