"""BERT-whitening (Su et al., 2021): a closed-form linear map that makes embeddings isotropic."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize

from ease.encoders.encoder import embedding_dimension
from ease.encoders.encoding import encode_stream
from ease.encoders.options import check_rank
from ease.errors import EaseError
from ease.similarity.vectors import finite_rows

logger = logging.getLogger(__name__)

SUMMARY = "It takes no gradient steps: a linear map makes the covariance of its training sentences the identity."

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Number, mean (dimension,) and covariance (dimension, dimension; divided by the number) of vectors."""

    count: int
    mean: Floats
    covariance: Floats


@dataclass(frozen=True)
class Whitening:
    """The map x -> (x - mean) @ weight."""

    moments: Moments
    weight: Floats
    """(dimension, kept), W: directions of the largest variance, each divided by its standard deviation"""


def gather_moments(batches: Iterable[ArrayLike]) -> Moments:
    """Merge the moments of batches of vectors, each (n, dimension), in double precision (Chan et al., 1979)."""
    count = 0
    for batch in batches:
        rows = finite_rows(batch).astype(np.float64)
        if not count:
            dimension = rows.shape[1]
            mean = np.zeros(dimension)
            scatter = np.zeros((dimension, dimension))
        batch_mean = rows.mean(axis=0)
        # Centred first: sums of raw squares would cancel where the mean is large beside the deviations.
        centred = rows - batch_mean
        shift = batch_mean - mean
        total = count + len(rows)
        scatter += centred.T @ centred + np.outer(shift, shift) * (count * len(rows) / total)
        mean += shift * (len(rows) / total)
        count = total
    if not count:
        raise EaseError("Whitening: there is no sentence to fit it on.")
    return Moments(count, mean, scatter / count)


def fit_whitening(moments: Moments, dimension: int | None = None) -> Whitening:
    """Return W such that (x - mean) W has the identity as its covariance (Su et al., 2021, Algorithm 1).

    Directions whose variance is within the rounding error of single precision are dropped. There is often one, because
    layer normalisation fixes a weighted sum of a token's values. Of the others, those of the largest variance are kept:
    `dimension` of them, or all.
    """
    variances, directions = eigh(moments.covariance)
    dimensions = len(variances)
    square_length = float(moments.mean @ moments.mean + np.trace(moments.covariance))
    # Embeddings are computed in single precision: the error of a product grows with the number of its terms.
    rounding = square_length * (dimensions * float(np.finfo(np.float32).eps)) ** 2
    rank = int(np.count_nonzero(variances > rounding))
    if not rank:
        raise EaseError(
            f"Whitening: the embeddings of {moments.count} sentences are all the same, in each of {dimensions} "
            "dimensions: fit it on sentences that differ."
        )
    if rank < (dimension or 0):
        raise EaseError(
            f"Whitening: the embeddings of {moments.count} sentences vary in {rank} of {dimensions} dimensions, and "
            f"`dimension` asks for {dimension}: set it to {rank} at most, or fit it on more sentences (`rows`)."
        )
    if rank < dimensions:
        logger.warning(
            "Whitening: the embeddings of %d sentences do not vary in %d of %d dimensions, which are dropped",
            moments.count,
            dimensions - rank,
            dimensions,
        )
    greatest = np.argsort(variances)[::-1][: dimension or rank]
    return Whitening(moments, directions[:, greatest] / np.sqrt(variances[greatest]))


def whiten_encoder(
    encoder: SentenceTransformer, sentences: Iterable[str], dimension: int | None = None, batch_size: int | None = None
) -> Whitening:
    """Fit the map to an encoder's embeddings and append it to the encoder, in place, as a `Dense` module.

    The stream of sentences is read once; `dimension` is that of `fit_whitening`.
    """
    whitening = fit_whitening(gather_moments(encode_stream(encoder, sentences, batch_size)), dimension)
    _append_dense(encoder, whitening.weight.T, -whitening.moments.mean @ whitening.weight)
    return whitening


def _append_dense(encoder: SentenceTransformer, weight: Floats, bias: Floats | None = None) -> None:
    """Append a linear map, (outputs, inputs), to an encoder."""
    initial_bias = None
    if bias is not None:
        initial_bias = torch.tensor(bias, dtype=torch.float32)
    layer = Dense(
        weight.shape[1],
        weight.shape[0],
        bias=bias is not None,
        activation_function=None,
        init_weight=torch.tensor(weight, dtype=torch.float32),
        init_bias=initial_bias,
    )
    encoder.append(layer.to(encoder.device))


SENTENCES_PER_LANGUAGE = 5000
"""Training sentences that the mean of a language is fitted on."""


def mean_embeddings(
    encoder: SentenceTransformer, sentences: Mapping[str, Iterable[str]], batch_size: int | None = None
) -> dict[str, Floats]:
    """Return the mean unit embedding of each language, (dimension,); each stream is read once."""
    means = {}
    for language, stream in sentences.items():
        total = np.zeros(embedding_dimension(encoder))
        count = 0
        for embeddings in encode_stream(encoder, stream, batch_size):
            rows = finite_rows(embeddings).astype(np.float64)
            total += (rows / np.linalg.norm(rows, axis=1, keepdims=True)).sum(axis=0)
            count += len(rows)
        if not count:
            raise EaseError(f"Language subspace: there is no sentence of {language!r} to fit it on.")
        means[language] = total / count
    return means


def language_directions(means: Mapping[str, Floats]) -> Floats:
    """Return the orthonormal directions in which the means differ, most first: (languages - 1, dimension)."""
    if len(means) < 2:
        raise EaseError(
            f"Language subspace: {len(means)} language has no other to differ from; give at least two languages."
        )
    stacked = np.stack(list(means.values()))
    # Centred, the means of n languages differ in n - 1 directions.
    directions: Floats = np.linalg.svd(stacked - stacked.mean(axis=0), full_matrices=False)[2]
    return directions[: min(len(means) - 1, stacked.shape[1])]


def remove_language_subspace(
    encoder: SentenceTransformer, sentences: Mapping[str, Iterable[str]], rank: int, batch_size: int | None = None
) -> None:
    """Fit `rank` directions to sentences of each language and remove them from an encoder's embeddings, in place."""
    check_rank(rank, languages=len(sentences), dimension=embedding_dimension(encoder))
    directions = language_directions(mean_embeddings(encoder, sentences, batch_size))
    remove_directions(encoder, directions[:rank])


def remove_directions(encoder: SentenceTransformer, directions: Floats) -> None:
    """Append the projection that removes directions to an encoder, in place, as a `Dense` module.

    The directions are orthonormal, (rank, dimension). An encoder whose embeddings have unit length keeps this by one
    more `Normalize` module.
    """
    normalised = isinstance(encoder[-1], Normalize)
    _append_dense(encoder, np.eye(embedding_dimension(encoder)) - directions.T @ directions)
    # A projection shortens vectors.
    if normalised:
        encoder.append(Normalize())
