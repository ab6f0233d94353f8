"""Extend the shipped table of templates by the sitelinks of a Wikidata JSON dump.

    python -m ease.wikimedia.template_items latest-all.json.bz2 > src/ease/wikimedia/wikitext/template_items.yml

An item with a listed template of one wiki, or the same template of English Wikipedia, gives the names of this template
in all other wikis. The output has the names that the shipped table has, and the new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml

from ease.io.addresses import located
from ease.io.files import read_data_file
from ease.wikimedia.dumps.streams import LineChunks
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language
from ease.wikimedia.template_pages import specification_of_item, title_of
from ease.wikimedia.wikitext.templates import HIDDEN
from ease.wikimedia.wikitext.titles import SiteInfo

_CHUNK_BYTES = 1 << 20
_Table = dict[str, dict[str, list[str]]]


def extend_table(path: Path) -> _Table:
    """Return the shipped table with the names that a Wikidata JSON dump adds: names by specification and wiki.

    Templates that print nothing are not in this table, and are not added to it.

    Raises:
        EaseError: The file is missing or broken.
    """
    shipped: _Table = read_data_file("ease.wikimedia.wikitext", "template_items.yml")
    table: _Table = {
        specification: {wiki: list(map(str, names)) for wiki, names in wikis.items()}
        for specification, wikis in shipped.items()
    }
    sites = {language: SiteInfo(language) for language in WIKIPEDIA_LANGUAGES}
    databases = {Language(language).database + "wiki": language for language in sites}
    for sitelinks in _sitelinks(path):
        members = [
            (language, title)
            for site, language in databases.items()
            if (title := title_of(_title(sitelinks.get(site)), sites[language]))
        ]
        specification = specification_of_item(members)
        if specification is None or specification == HIDDEN:
            continue
        for language, title in members:
            names = table.setdefault(specification, {}).setdefault(language, [])
            if title.lower() not in map(str.lower, names):
                names.append(title.lower())
    return table


def _sitelinks(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the sitelinks of the items that may have a template."""
    chunks = LineChunks(path, _CHUNK_BYTES)
    for _, chunk in chunks:
        yield from _parse(chunk)
    yield from _parse(chunks.rest)


def _parse(chunk: bytes) -> Iterator[Mapping[str, Any]]:
    for line in chunk.split(b"\n"):
        # Most templates have an English name or description: the other lines are not parsed.
        if b"emplate" not in line:
            continue
        try:
            entity = orjson.loads(line.strip(b"[], \t\r"))
        except orjson.JSONDecodeError:
            continue
        if isinstance(entity, dict) and isinstance(entity.get("sitelinks"), dict):
            yield entity["sitelinks"]


def _title(sitelink: Any) -> str:
    if isinstance(sitelink, dict) and isinstance(sitelink.get("title"), str):
        return sitelink["title"]
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the extended table as YAML."""
    (source,) = sys.argv[1:] if arguments is None else arguments
    table = extend_table(Path(located(source)))
    yaml.safe_dump(table, sys.stdout, allow_unicode=True, sort_keys=False, width=120)


if __name__ == "__main__":
    main()
