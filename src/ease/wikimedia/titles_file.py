"""Titles of the same items in several languages, from a table of one's own, in place of Wikidata's sitelinks.

For wikis without page_props tables and items that no Wikidata dump names, such as old, rare or private ones. The table
of a dump from before March 2013, whose pages have interlanguage links (`[[en:Title]]`), is printed by

    $ python -m ease.wikimedia.titles_file DUMP LANGUAGE FURTHER_LANGUAGE… > titles.tsv
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ease.errors import EaseError
from ease.io.files import hash_contents
from ease.io.text_tables import read_rows
from ease.wikimedia.dumps.files import find_dumps, split_into_shards
from ease.wikimedia.dumps.pages import ARTICLES, iterate_pages
from ease.wikimedia.dumps.parts import Counts, make_part, part_name
from ease.wikimedia.languages import check_codes
from ease.wikimedia.wikidata import SITELINKS, SITELINKS_FILE

logger = logging.getLogger(__name__)

TITLES_PARTS_VERSION = 1
"""Raise it if a table of titles now gives other sitelinks: parts of another version are read again."""

ITEM_COLUMN = "item"
"""Column of the items' numbers on Wikidata, if they are known"""
_ITEM_ID = re.compile(r"Q([1-9]\d{0,17})")


def check_titles_file(path: Path, languages: Sequence[str]) -> list[str]:
    """Return the columns of a table of titles; refuse a header without two of the languages.

    Raises:
        EaseError: If the file cannot be read, or its header names fewer than two languages, or one twice.
    """
    _, header = next(read_rows(path, "\t"), (0, []))
    columns = [column.strip() for column in header]
    present = [language for language in languages if language in columns]
    if len(present) < min(2, len(languages)):
        raise EaseError(
            f"{path}: its header names {', '.join(present) or 'none'} of the languages {', '.join(languages)} "
            f"(columns: {', '.join(columns) or 'none'}): write one tab-separated column for each language, with its "
            "Wikipedia code as the name."
        )
    repeated = [column for column in (*present, ITEM_COLUMN) if columns.count(column) > 1]
    if repeated:
        raise EaseError(f"{path}: the header names the column {', '.join(repeated)} twice; rename or remove one.")
    return columns


def read_titles(path: Path, languages: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the item's number, the language and the title of each cell with a title.

    A row is one item. Without a column `item`, its number is that of its line. Columns of other names are ignored.
    Titles are those of pages, in the form of links: underscores are blanks, and the first letter may be small.

    Raises:
        EaseError: As `check_titles_file`, or if an item's number or a row's number of columns is wrong.
    """
    columns = check_titles_file(path, languages)
    for line, fields in read_rows(path, "\t"):
        if line == 1 or not any(field.strip() for field in fields):
            continue
        if len(fields) != len(columns):
            raise EaseError(
                f"{path}, line {line}: {len(fields)} columns, but the header has {len(columns)}; fix or remove it."
            )
        row = dict(zip(columns, fields, strict=True))
        number = line
        if ITEM_COLUMN in row:
            match = _ITEM_ID.fullmatch(row[ITEM_COLUMN].strip())
            if match is None:
                raise EaseError(f"{path}, line {line}: {row[ITEM_COLUMN]!r} is no item such as Q64; fix or remove it.")
            number = int(match[1])
        for language in languages:
            title = " ".join(row.get(language, "").replace("_", " ").split())
            if title:
                yield number, language, _capitalize(title)


def _capitalize(title: str) -> str:
    """Return a title with a capital first letter, as all Wikipedias store it; `ß` has no single one."""
    first = title[0].upper()
    if len(first) == 1:
        return first + title[1:]
    return title


def ingest_titles(path: Path, languages: Sequence[str], folder: Path) -> tuple[Path, Counts]:
    """Write the sitelinks of a table of titles, and return their file and the counts of titles by language.

    A title that names two items stays with the first, and an item keeps its first title in a language.
    """

    def write(part: Path) -> Counts:
        rows: list[tuple[int, str, str]] = []
        repeated = 0
        titles: set[tuple[str, str]] = set()
        items: set[tuple[str, int]] = set()
        for number, language, title in read_titles(path, languages):
            if (language, title) in titles or (language, number) in items:
                repeated += 1
                continue
            titles.add((language, title))
            items.add((language, number))
            rows.append((number, language, title))
        if not rows:
            raise EaseError(f"{path}: contains no title; fetch the file again.")
        columns = [list(column) for column in zip(*sorted(rows), strict=True)]
        pq.write_table(pa.table(columns, schema=SITELINKS), part / SITELINKS_FILE)
        by_language = {language: sum(row[1] == language for row in rows) for language in languages}
        return {"sitelinks": by_language, "repeated": repeated}

    part = folder / "titles" / part_name(TITLES_PARTS_VERSION, hash_contents(path), sorted(languages))
    counts = make_part(part, write)
    if counts["repeated"]:
        logger.warning("%s: %d titles or items occur twice; the first of each is used", path, counts["repeated"])
    return part / SITELINKS_FILE, counts


def read_interlanguage_links(
    dump: Path, language: str, further_languages: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the title of each article of a dump that links to its articles in other languages, with their titles.

    A link such as `[[en:Title]]`, without a colon in front, is shown beside the page and not in its text. Wikidata has
    replaced these links since March 2013, so that later dumps have few.

    Raises:
        EaseError: As `iterate_pages`, or if the dump is not the language's.
    """
    codes = "|".join(map(re.escape, further_languages))
    link = re.compile(rf"\[\[\s*({codes})\s*:\s*([^\[\]|#\n]+?)\s*\]\]")
    for file in find_dumps(str(dump), [language]):
        for shard in split_into_shards(file, file.path.stat().st_size):
            for page in iterate_pages(shard, namespaces=ARTICLES, skip_others=True):
                titles: dict[str, str] = {}
                for code, title in link.findall(page.text or ""):
                    # A page has one link to a language; a second one is an editor's mistake.
                    titles.setdefault(code, title)
                if titles:
                    yield page.title, titles


def main() -> None:
    """Print the table of titles of a dump's interlanguage links."""
    arguments = sys.argv[1:]
    if len(arguments) < 3:
        raise SystemExit("Usage: python -m ease.wikimedia.titles_file DUMP LANGUAGE FURTHER_LANGUAGE…")
    dump, language, *further_languages = arguments
    try:
        check_codes([language, *further_languages], "LANGUAGE")
        sys.stdout.write("\t".join(arguments[1:]) + "\n")
        for title, titles in read_interlanguage_links(Path(dump), language, further_languages):
            sys.stdout.write("\t".join([title, *(titles.get(code, "") for code in further_languages)]) + "\n")
    except EaseError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
