"""The training pairs, the start encoder and the tokenizer's sentences of a setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.io.names import PREPARATION
from ease.pipelines.origins import write_origin
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.starts import missing_start


def required_pairs(training_pairs: ibis.Table | None, setting: Setting) -> ibis.Table:
    """Return the setting's training pairs.

    Raises:
        EaseError: If there are none yet, with the command that makes the pairs.
    """
    if training_pairs is None:
        raise EaseError(
            f"There are no training pairs: make them by `kedro run --pipelines=train_{setting.name} "
            f"--tags={PREPARATION}`."
        )
    return training_pairs


def chosen_start(setting: Setting, method: str, untrained: Path | None, mlm: Path | None) -> Path:
    """Return the encoder that a method of the setting starts from; MLM itself always starts untrained.

    Raises:
        EaseError: If there is no such encoder yet, with the command that makes it.
    """
    if setting.start == MLM and method != MLM:
        if mlm is None:
            raise EaseError(missing_start(setting.name, [method]))
        return mlm
    if untrained is None:
        raise EaseError(
            "There is no encoder to train: make it by `kedro run "
            f"--pipelines=train_{setting.name} --tags=entity_embeddings`."
        )
    return untrained


def write_encoder(sentences: ibis.Table, setting: Setting, folder: Path) -> None:
    """Build or load a setting's encoder and save it in a folder."""
    from ease.encoders.encoder import build_encoder as build
    from ease.encoders.encoder import save_encoder

    save_encoder(build(setting.encoder, drawn_sentences(sentences, setting)), folder)
    write_origin(folder, None, setting.encoder)


def drawn_sentences(sentences: ibis.Table, setting: Setting) -> Iterator[str]:
    """Yield sentences of all languages in a seeded random order; nothing is read before the first."""
    ticket = draw(setting.encoder.seed, sentences.page_id, sentences.sentence_index)
    keys = [ticket, sentences.language, sentences.page_id, sentences.sentence_index]
    drawn = sentences.order_by(keys).limit(setting.encoder.random.tokenizer_sentences).select("text")
    for batch in drawn.to_pyarrow_batches():
        yield from batch.column("text").to_pylist()
