"""Removal of the language subspace: a projection onto the directions that all languages share.

The mean embeddings of the languages span a subspace that reflects a sentence's language rather than its meaning. An
orthogonal projection removes the directions in which the means differ most.

References:
    Yang et al. 2021 (A simple and effective method to eliminate the self language bias in multilingual
    representations), which removes the principal components of each language; here those of the languages' means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize

from ease.encoders.encoder import embedding_dimension
from ease.encoders.encoding import encode_stream
from ease.encoders.options import check_rank
from ease.errors import EaseError
from ease.evaluation.metrics import finite_rows

Floats = NDArray[np.float64]

SENTENCES_PER_LANGUAGE = 5000
"""Training sentences that the mean of a language is fitted on."""


def mean_embeddings(
    encoder: SentenceTransformer, sentences: Mapping[str, Iterable[str]], batch_size: int | None = None
) -> dict[str, Floats]:
    """Return the mean unit embedding of each language, (dimension,).

    Args:
        encoder: The encoder.
        sentences: Sentences of each language, each stream read once.
        batch_size: Sentences encoded at once; the default depends on the device.

    Raises:
        EaseError: If a language has no sentence, or an embedding is not finite.
    """
    means = {}
    for language, stream in sentences.items():
        total, count = np.zeros(embedding_dimension(encoder)), 0
        for embeddings in encode_stream(encoder, stream, batch_size):
            rows = finite_rows(embeddings).astype(np.float64)
            total += (rows / np.linalg.norm(rows, axis=1, keepdims=True)).sum(axis=0)
            count += len(rows)
        if not count:
            raise EaseError(f"Language subspace: there is no sentence of {language!r} to fit it on.")
        means[language] = total / count
    return means


def language_directions(means: Mapping[str, Floats]) -> Floats:
    """Return the directions in which the languages' means differ, most first: (languages - 1, dimension), orthonormal.

    Raises:
        EaseError: If there is one language only.
    """
    if len(means) < 2:
        raise EaseError(
            f"Language subspace: {len(means)} language has no other to differ from; give at least two languages."
        )
    stacked = np.stack(list(means.values()))
    directions: Floats = np.linalg.svd(stacked - stacked.mean(axis=0), full_matrices=False)[2]
    return directions[: min(len(means) - 1, stacked.shape[1])]


def remove_language_subspace(
    encoder: SentenceTransformer,
    sentences: Mapping[str, Iterable[str]],
    rank: int,
    batch_size: int | None = None,
) -> None:
    """Fit the language subspace to sentences and append its removal to an encoder, in place, as a `Dense` module.

    Args:
        encoder: The encoder.
        sentences: Sentences of each language, each stream read once.
        rank: Number of directions to remove.
        batch_size: Sentences encoded at once; the default depends on the device.

    Raises:
        EaseError: If the rank is too high, or a language has no sentence.
    """
    check_rank(rank, languages=len(sentences), dimension=embedding_dimension(encoder))
    directions = language_directions(mean_embeddings(encoder, sentences, batch_size))
    remove_directions(encoder, directions[:rank])


def remove_directions(encoder: SentenceTransformer, directions: Floats) -> None:
    """Append the projection that removes directions to an encoder, in place, as a `Dense` module.

    An encoder whose embeddings have unit length keeps this by one more `Normalize` module.

    Args:
        encoder: The encoder.
        directions: Orthonormal, (rank, dimension).
    """
    dimension = embedding_dimension(encoder)
    normalised = isinstance(encoder[-1], Normalize)
    projection = np.eye(dimension) - directions.T @ directions
    layer = Dense(
        dimension,
        dimension,
        bias=False,
        activation_function=None,
        init_weight=torch.tensor(projection, dtype=torch.float32),
    )
    encoder.append(layer.to(encoder.device))
    if normalised:
        encoder.append(Normalize())
