"""The setting `teach`: derived from a language, its companions and an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ease.errors import EaseError
from ease.io.models import split_words
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.sample.world import SAMPLE_LANGUAGES
from ease.wikimedia.dumps.files import find_dumps, table_folders
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import (
    WIKIPEDIA_LANGUAGES,
    check_codes,
    check_languages,
    nearest_companions,
)
from ease.wikimedia.wikidata import find_page_props

TEACH = "teach"


def complete_taught_setting(parameters: dict[str, Any]) -> None:
    """Fill in, in place, the languages and the encoder of `teach.setting` that the configuration leaves null."""
    taught = parameters.get(TEACH)
    if not isinstance(taught, dict) or not isinstance(taught.get("setting"), dict):
        return
    setting, encoder = taught["setting"], taught["setting"].get("encoder")
    for name in ("language", "companions"):
        taught[name] = "no" if taught.get(name) is False else taught.get(name)
    language = str(taught["language"] or "")
    if setting.get("languages") is None:
        among = SAMPLE_LANGUAGES if parameters.get("acquire", {}).get("wikipedia") == SAMPLE else None
        companions = split_words(taught.get("companions"))
        chosen = nearest_companions(language, among) if companions is None else companions
        setting["languages"] = list(dict.fromkeys([language, *chosen]))
    if isinstance(encoder, dict) and encoder.get("name") is None:
        encoder["name"] = taught.get("encoder")


def check_taught_sources(
    language: str, companions: Any, acquire: AcquireOptions, languages: Sequence[str]
) -> None:
    """Refuse languages as `check_taught_language` does, and a folder without their dumps or page_props tables."""
    check_taught_language(language, companions, acquire)
    if acquire.wikipedia == SAMPLE or is_mirror(acquire.wikipedia):
        return
    try:
        dumps = find_dumps(acquire.wikipedia, languages)
    except EaseError as error:
        raise EaseError(
            f"{error} `teach` reads the dumps of {', '.join(languages)}: `teach.companions` chooses the languages "
            f"beside {language}, by default {', '.join(languages[1:])}."
        ) from error
    dates = {dump.language: dump.dump_date for dump in dumps}
    try:
        find_page_props(table_folders(acquire.wikipedia, dumps), dates)
    except EaseError as error:
        raise EaseError(
            f"{str(error).partition(': ')[0]}: `teach` reads from it which item each page has. Download it to the "
            "dump's folder from https://dumps.wikimedia.org, or set `acquire.wikipedia` to that address."
        ) from error


def check_taught_language(language: str, companions: Any, acquire: AcquireOptions) -> None:
    """Refuse a language without a Wikipedia, and companions that are none."""
    given = split_words(companions)
    if given is not None and not given:
        raise EaseError(
            "`teach.companions` names no language: name at least one, such as en, or set it to null."
        )
    if language in (given or ()):
        raise EaseError(
            f"`teach.companions` has {language}, the language itself: remove it, and name a language that the encoder "
            "knows, such as en."
        )
    parameters = {language: "teach.language"} | dict.fromkeys(given or (), "teach.companions")
    for code, parameter in parameters.items():
        if acquire.wikipedia == SAMPLE and code in WIKIPEDIA_LANGUAGES and code not in SAMPLE_LANGUAGES:
            raise EaseError(
                f"The sample wiki has no {code} (`{parameter}`), only {' '.join(SAMPLE_LANGUAGES)}: choose one of "
                "these, or set `acquire.wikipedia` to a folder of dumps or a mirror."
            )
        # A mirror has the Wikipedias that are newer than the list, and names those that it lacks.
        (check_codes if is_mirror(acquire.wikipedia) else check_languages)([code], parameter)
