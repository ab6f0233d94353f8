"""Names of countries in several languages, from Unicode's CLDR, which show what an encoder knows of a language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from babel import Locale

NAMES_PIVOT = "en"
NAMED_LANGUAGES = ("ar", "de", "es", "fi", "fr", "hi", "ja", "ru", "tr", "zh")
"""Large languages of ten branches and seven scripts"""

# Codes of unions, and of tests, are no countries.
_COUNTRY = re.compile(r"(?!EU|EZ|QO|UN|XA|XB|ZZ)[A-Z]{2}")


def country_names(language: str) -> dict[str, str]:
    """Return CLDR's name of each country and territory by its ISO code, about 250."""
    territories = Locale.parse(language).territories
    return {code: name for code, name in sorted(territories.items()) if _COUNTRY.fullmatch(code)}


def write_country_names(folder: Path, languages: Sequence[str]) -> None:
    """Write a Parquet file `{language}-en.parquet` for each language, with the columns left and right."""
    english = country_names(NAMES_PIVOT)
    for language in languages:
        names = country_names(language)
        codes = [code for code in names if code in english]
        rows = pa.table({"left": [names[code] for code in codes], "right": [english[code] for code in codes]})
        pq.write_table(rows, folder / f"{language}-{NAMES_PIVOT}.parquet")
