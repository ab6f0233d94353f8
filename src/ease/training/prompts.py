"""The prompt that an encoder puts before each sentence."""

from __future__ import annotations

from sentence_transformers import SentenceTransformer

from ease.encoders.prompts import prompt_named
from ease.errors import EaseError


def default_prompt(encoder: SentenceTransformer) -> str:
    """Return the text that `encode` puts before each sentence; empty without a default prompt.

    Raises:
        EaseError: If the pooling excludes the prompt, which a training on tokens cannot.
    """
    prompt = prompt_named(encoder.prompts, encoder.default_prompt_name)
    if prompt and any(getattr(module, "include_prompt", True) is False for module in encoder):
        raise EaseError(
            f"The encoder's pooling excludes its prompt {prompt!r}, which a training does not support: save it with "
            "`include_prompt` true, or give a `pooling`."
        )
    return prompt


def prompt_tokens(encoder: SentenceTransformer) -> int:
    """Return the number of tokens of the default prompt, by which a text may be longer than a sentence without it."""
    prompt = default_prompt(encoder)
    return len(encoder.tokenizer(prompt, add_special_tokens=False)["input_ids"]) if prompt else 0
