"""The setting of `teach`, which other parameters complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field
from pydantic.fields import FieldInfo

from ease.errors import EaseError
from ease.options import StrictModel, Words, as_text, split_words
from ease.pipelines.options import SAMPLE, AcquireOptions
from ease.pipelines.setting import TEACH
from ease.sample.options import SAMPLE_LANGUAGES
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import ENGLISH, WIKIPEDIA_LANGUAGES, check_codes, check_languages, nearest_companions

AUTO = "auto"
"""Value of `teach.encoder` that selects the best of `teach.candidates`"""


class TeachOptions(StrictModel):
    """Parameters of `teach` beside its groups; nodes read them one by one, as `teach.language` and so on."""

    language: str = Field(description="Wikipedia's code of the language")
    companions: Words | None = Field(
        description="languages to train on beside it; null: English and the nearest large ones by CLDR"
    )
    encoder: str = Field(
        description="encoder to start from: a hub name, a folder, `random:`, which masked-language modelling trains on "
        "the dumps first, or `auto`: the best of `candidates`"
    )
    candidates: Words = Field(
        description="encoders that `auto` compares by how many names and first sentences they match with those of "
        "articles about the same items"
    )
    accept: bool = Field(
        description="whether `latest` links to the model even if it is the starting encoder, unchanged"
    )
    train: bool | None = Field(description="whether to train; null: if the starting encoder knows few languages")
    min_kept: float = Field(
        description="minimum share that the model keeps of the starting encoder's score on each of `kept_tasks`, in "
        "percent"
    )
    kept_tasks: Words = Field(description="tasks that measure what the starting encoder knows, if their sets are there")
    kept_sentences: int = Field(ge=2, description="maximum number of pairs of each parallel set of `kept_tasks`")
    max_unknown_words: float = Field(
        description="highest share of the language's words, in percent, with a token that the encoder does not know"
    )


TEACH_FIELDS: dict[str, FieldInfo] = {f"{TEACH}.{name}": field for name, field in TeachOptions.model_fields.items()}
"""The fields of `TeachOptions` by the parameters' names"""


def pivot_of(languages: Sequence[str]) -> str:
    """Return the language whose texts a taught language's are compared with: English, or else the first companion."""
    if ENGLISH in languages:
        return ENGLISH
    return languages[1]


def complete_taught_setting(parameters: dict[str, Any]) -> None:
    """Fill in, in place, the languages, the encoder and the audit's pivot that the configuration leaves null.

    Raises:
        EaseError: If `teach.language` is no Wikipedia's code.
    """
    taught = parameters.get(TEACH)
    if not isinstance(taught, dict) or not isinstance(taught.get("setting"), dict):
        return
    setting = taught["setting"]
    source = (parameters.get("acquire") or {}).get("wikipedia")
    for name in ("language", "companions", "encoder"):
        if name in taught:
            taught[name] = as_text(taught[name])
    language = str(taught.get("language") or "")
    # Checked before all else, since each further check imports a library.
    if language:
        _check_language(language, str(source), "teach.language")
    if setting.get("languages") is None:
        companions = split_words(taught.get("companions"))
        if companions is None and source == SAMPLE:
            companions = nearest_companions(language, SAMPLE_LANGUAGES)
        elif companions is None:
            companions = nearest_companions(language)
        setting["languages"] = list(dict.fromkeys([language, *companions]))
    languages = split_words(setting["languages"])
    audit = parameters.get("audit")
    # The audit's own default is English.
    if isinstance(audit, dict) and audit.get("pivot") is None and len(languages) > 1 and ENGLISH not in languages:
        audit["pivot"] = pivot_of(languages)
    encoder = setting.get("encoder")
    if isinstance(encoder, dict) and encoder.get("name") is None:
        encoder["name"] = taught.get("encoder")


def check_taught_languages(language: str, companions: Any, acquire: AcquireOptions) -> None:
    """Refuse a language without a Wikipedia, and invalid companions."""
    companion_codes = split_words(companions)
    if companion_codes is None:
        companion_codes = []
    elif not companion_codes:
        raise EaseError("`teach.companions` names no language: name at least one, such as en, or set it to null.")
    if language in companion_codes:
        raise EaseError(
            f"`teach.companions` has {language}, the language itself: remove it, and name a language that the encoder "
            "knows, such as en."
        )
    parameters = {language: "teach.language"} | dict.fromkeys(companion_codes, "teach.companions")
    for code, parameter in parameters.items():
        if acquire.wikipedia == SAMPLE and code in WIKIPEDIA_LANGUAGES and code not in SAMPLE_LANGUAGES:
            raise EaseError(
                f"The sample wiki has no {code} (`{parameter}`), only {' '.join(SAMPLE_LANGUAGES)}: choose one of "
                "these, or set `acquire.wikipedia` to a folder of dumps or a mirror."
            )
        _check_language(code, acquire.wikipedia, parameter)


def _check_language(code: str, source: str, parameter: str) -> None:
    if is_mirror(source):
        # A mirror has the Wikipedias that are newer than the list, and names those that it lacks.
        check_codes([code], parameter)
    else:
        check_languages([code], parameter)
