"""The setting of `teach`, which other parameters complete."""

from __future__ import annotations

from typing import Any

from ease.options import split_words
from ease.pipelines.options import SAMPLE
from ease.pipelines.setting import TEACH
from ease.sample.world import SAMPLE_LANGUAGES
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import check_codes, check_languages, nearest_companions


def complete_taught_setting(parameters: dict[str, Any]) -> None:
    """Fill in, in place, the languages and the encoder of `teach.setting` that the configuration leaves null.

    Raises:
        EaseError: If `teach.language` is no Wikipedia's code.
    """
    taught = parameters.get(TEACH)
    if not isinstance(taught, dict) or not isinstance(taught.get("setting"), dict):
        return
    setting = taught["setting"]
    source = parameters.get("acquire", {}).get("wikipedia")
    for name in ("language", "companions"):
        if taught.get(name) is False:
            taught[name] = "no"  # YAML reads the code of Norwegian as a truth value
    language = str(taught.get("language") or "")
    # Checked before all else, since each further check imports a library.
    if language and is_mirror(str(source)):
        check_codes([language], "teach.language")
    elif language:
        check_languages([language], "teach.language")
    if setting.get("languages") is None:
        companions = split_words(taught.get("companions"))
        if companions is None:
            companions = nearest_companions(language, SAMPLE_LANGUAGES if source == SAMPLE else None)
        setting["languages"] = list(dict.fromkeys([language, *companions]))
    encoder = setting.get("encoder")
    if isinstance(encoder, dict) and encoder.get("name") is None:
        encoder["name"] = taught.get("encoder")
