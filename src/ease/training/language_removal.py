"""Removal of the language subspace from a trained encoder, with the rank chosen on development data."""

from __future__ import annotations

import copy
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.dataset as pads
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.whitening import (
    SENTENCES_PER_LANGUAGE,
    language_directions,
    mean_embeddings,
    remove_directions,
)
from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.names import DEVELOPMENT
from ease.methods.base import SENTENCE
from ease.training.inputs import LANGUAGE, distinct, open_pair_table
from ease.training.selection import Evaluate

logger = logging.getLogger(__name__)


def remove_languages(
    model: Path,
    target: Path,
    pairs: Path,
    ranks: Sequence[int],
    evaluate: Evaluate | None,
    device: torch.device,
) -> dict[str, float]:
    """Save a trained encoder without its language subspace.

    Args:
        model: Folder of the trained encoder; not changed.
        target: Folder for the encoder with the projection.
        pairs: Parquet with language and sentence.
        ranks: Ranks to choose from; a single rank is used without a comparison.
        evaluate: Scores an encoder on the development tasks.
        device: The device on which the encoder computes.

    Returns:
        Development scores of the saved encoder; empty if none were computed.
    """
    encoder = load_encoder(str(model)).to(device)
    source = open_pair_table(pairs, (LANGUAGE, SENTENCE))
    sentences = {language: _of_language(source, language) for language in distinct(source, LANGUAGE)}
    directions = language_directions(mean_embeddings(encoder, sentences))
    scored: dict[int, dict[str, float]] = {}
    for rank in ranks:
        scored[rank] = {} if evaluate is None else evaluate(_without(encoder, directions, rank))
    chosen = max(ranks, key=lambda rank: scored[rank].get(DEVELOPMENT, 0.0))
    logger.info(
        "Removed %d directions of the language subspace (development scores by rank: %s)",
        chosen,
        ", ".join(f"{rank}: {scores[DEVELOPMENT]:.2f}" for rank, scores in scored.items() if scores)
        or "none",
    )
    with atomic_folder(target) as folder:
        save_encoder(_without(encoder, directions, chosen), folder)
        if (model / "training").exists():
            shutil.copytree(model / "training", folder / "training")
    return scored[chosen]


def check_ranks(pairs: Path, ranks: Sequence[int], development: bool) -> None:
    """Refuse unusable ranks before the training.

    Raises:
        EaseError: If several ranks are given without development tasks, or a rank is above the number of languages
            minus one.
    """
    if len(ranks) > 1 and not development:
        raise EaseError(
            f"`language_ranks` {', '.join(map(str, ranks))}: a choice needs development tasks; give a single rank."
        )
    languages = len(distinct(open_pair_table(pairs, (LANGUAGE,)), LANGUAGE)) if ranks else 0
    if ranks and max(ranks) > languages - 1:
        raise EaseError(
            f"`language_ranks` {max(ranks)}: the means of {languages} language(s) span {languages - 1} direction(s); "
            "lower the rank, or set `language_ranks` to []."
        )


def _without(encoder: SentenceTransformer, directions: NDArray[np.float64], rank: int) -> SentenceTransformer:
    """Return a copy of an encoder without the first directions."""
    changed = copy.deepcopy(encoder)
    if rank:
        remove_directions(changed, directions[:rank])
    return changed


def _of_language(source: pads.Dataset, language: str) -> Iterator[str]:
    """Yield evenly spaced sentences of a language."""
    chosen = pads.field(LANGUAGE) == language
    step = -(-source.count_rows(filter=chosen) // SENTENCES_PER_LANGUAGE)
    seen = 0
    for batch in source.to_batches(columns=[SENTENCE], filter=chosen):
        yield from batch.column(SENTENCE)[(-seen) % step :: step].to_pylist()
        seen += batch.num_rows
