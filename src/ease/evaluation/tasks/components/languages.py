"""One encoder for each language, for tasks that learn a map between the languages' spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ease.errors import EaseError
from ease.evaluation.tasks import Encode
from ease.evaluation.tasks.components.prompted import PromptedEncode, Role, encode_in_role


class EncodeByLanguage:
    """Functions from words or sentences to embeddings, one for each language."""

    def __init__(self, languages: Mapping[str, Encode]) -> None:
        """Set the function of each language, by its code."""
        self._languages = dict(languages)

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Refuse sentences of unknown language."""
        raise EaseError(
            f"There is one encoder for each of {', '.join(self._languages)}, and the task encodes all languages with "
            "one: name a task such as bli."
        )

    def for_task(self, task: str, kind: str) -> EncodeByLanguage:
        """Return the functions for the texts of a task."""
        return EncodeByLanguage(
            {
                language: own.for_task(task, kind) if isinstance(own, PromptedEncode) else own
                for language, own in self._languages.items()
            }
        )

    def in_role(self, role: Role) -> EncodeByLanguage:
        """Return the functions for queries or passages."""
        return EncodeByLanguage(
            {language: encode_in_role(own, role) for language, own in self._languages.items()}
        )

    def of(self, language: str) -> Encode:
        """Return the function of a language."""
        if language not in self._languages:
            raise EaseError(
                f"No encoder for the language {language!r} among {', '.join(self._languages)}: add one, or choose "
                "other language pairs."
            )
        return self._languages[language]


def encode_of(encode: Encode, language: str) -> Encode:
    """Return the function for sentences of a language: the language's own, or the one of all languages."""
    return encode.of(language) if isinstance(encode, EncodeByLanguage) else encode
