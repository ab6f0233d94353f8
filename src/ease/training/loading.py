"""Loading of the encoder that a job trains."""

from __future__ import annotations

import logging
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods.base import TrainingMethod
from ease.methods.components.drophead import has_dropout, set_dropout
from ease.training.lora import add_lora
from ease.training.options import TrainingJob
from ease.training.prompts import prompt_tokens

logger = logging.getLogger(__name__)


def load_for_training(job: TrainingJob) -> SentenceTransformer:
    """Load the encoder in single precision, with the job's dropout and adapters."""
    encoder = load_encoder(job.encoder, job.pooling, job.training.seed).float()
    if not isinstance(encoder[0], Transformer):
        raise EaseError(
            f"The encoder {job.encoder!r} begins with {type(encoder[0]).__name__}, which no method trains: choose a "
            "transformer, or a static encoder."
        )
    longest, prompt = encoder.max_seq_length, prompt_tokens(encoder)
    if longest is not None and job.training.max_tokens + prompt > longest:
        beside = f" with a prompt of {prompt}" if prompt else ""
        raise EaseError(
            f"`max_tokens` {job.training.max_tokens}: the encoder accepts at most {longest}{beside}."
        )
    if job.training.encoder_dropout is not None:
        set_dropout(encoder, job.training.encoder_dropout, "encoder_dropout")
    if job.training.lora is not None and job.training.lora.rank:
        add_lora(encoder, job.training.lora)
    return encoder


def warn_of_equal_views(encoder: SentenceTransformer, method: TrainingMethod[Any]) -> None:
    """Warn if two views of a text by a transformer have equal embeddings, since they differ by dropout alone."""
    repeated = len(set(method.views)) < len(method.views)
    if repeated and isinstance(encoder[0], Transformer) and not has_dropout(encoder):
        logger.warning(
            "The encoder has no dropout: both views of a sentence have equal embeddings. Set `encoder_dropout`, such "
            "as to 0.1."
        )
