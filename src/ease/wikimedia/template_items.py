"""Extend the shipped tables of templates by the sitelinks of a Wikidata JSON dump.

    python -m ease.wikimedia.template_items latest-all.json.bz2 > src/ease/wikimedia/wikitext/template_items.yml
    python -m ease.wikimedia.template_items --numbers latest-all.json.bz2

An item with a listed template of one wiki, or the same template of English Wikipedia, gives the names of this template
in all other wikis. With `--numbers`, it gives the item's number, by which a run with the page_props of a single wiki
knows the template: `template_numbers.yml`. The output has what the shipped table has, and what is new.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
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
from ease.wikimedia.wikitext.templates import HIDDEN, listed_numbers
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
    for _, members, specification in _known_items(path):
        if specification == HIDDEN:
            continue
        for language, title in members:
            names = table.setdefault(specification, {}).setdefault(language, [])
            if title.lower() not in map(str.lower, names):
                names.append(title.lower())
    return table


def extend_numbers(path: Path) -> dict[str, list[int]]:
    """Return the shipped numbers of items with those that a Wikidata JSON dump adds, by specification.

    Raises:
        EaseError: The file is missing or broken.
    """
    table: dict[str, list[int]] = defaultdict(list)
    for number, specification in listed_numbers().items():
        table[specification].append(number)
    for number, _, specification in _known_items(path):
        if number not in table[specification]:
            table[specification].append(number)
    return {specification: sorted(numbers) for specification, numbers in table.items()}


def _known_items(path: Path) -> Iterator[tuple[int, list[tuple[str, str]], str]]:
    """Yield number, templates (language and title) and specification of each item whose template is listed."""
    sites = {language: SiteInfo(language) for language in WIKIPEDIA_LANGUAGES}
    databases = {Language(language).database + "wiki": language for language in sites}
    for entity in _entities(path):
        sitelinks = entity["sitelinks"]
        members = [
            (language, title)
            for site, language in databases.items()
            if (title := title_of(_title(sitelinks.get(site)), sites[language]))
        ]
        specification = specification_of_item(members)
        number = str(entity.get("id", "")).removeprefix("Q")
        if specification is not None and number.isdecimal():
            yield int(number), members, specification


def _entities(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the items with sitelinks that may have a template."""
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
            yield entity


def _title(sitelink: Any) -> str:
    if isinstance(sitelink, dict) and isinstance(sitelink.get("title"), str):
        return sitelink["title"]
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print an extended table as YAML."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", help="Wikidata JSON dump")
    parser.add_argument("--numbers", action="store_true", help="numbers of items instead of names")
    options = parser.parse_args(arguments)
    extend = extend_numbers if options.numbers else extend_table
    yaml.safe_dump(extend(Path(located(options.dump))), sys.stdout, allow_unicode=True, sort_keys=False, width=120)


if __name__ == "__main__":
    main()
