"""Count the prose lines that lose words with a template that the parser removes, and name these templates.

A prose line has at least 40 characters, and is no heading, list item, table row or template. A template is lost if it
is neither shown nor listed in `data/templates_without_words.yml`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import yaml

from ease.wikimedia.dumps.files import Shard, read_siteinfo, recognise_dump
from ease.wikimedia.dumps.pages import iterate_pages, reason_to_skip
from ease.wikimedia.wikitext.markup import cut_tables, hide_extensions
from ease.wikimedia.wikitext.templates import show_templates

LEAST_CHARACTERS = 40
WITHOUT_WORDS = Path(__file__).parent / "data" / "templates_without_words.yml"
NOT_PROSE = tuple("=*#:;|!{<[")
TEMPLATE = re.compile(r"\{\{(?<!\{\{\{)\s*+([^{}|]*[^{}|\s])\s*+(?:\|(?:[^{}]++|\{\{[^{}]*+\}\})*+)?\}\}")
BLOCK = re.compile(r"^\{\{(?:[^{}]++|\{\{[^{}]*+\}\})*+\}\}[ \t]*+$", re.MULTILINE)


def prose_lines(text: str) -> list[str]:
    """Return the lines of running prose of a page, in wikitext."""
    source = BLOCK.sub("", cut_tables(hide_extensions(text)[0]))
    lines = map(str.strip, source.split("\n"))
    return [line for line in lines if len(line) >= LEAST_CHARACTERS and not line.startswith(NOT_PROSE)]


def templates_without_words(language: str) -> frozenset[str]:
    """Return the templates, in lower case, that show no words of their sentence, such as `{{citation needed}}`."""
    listed = yaml.safe_load(WITHOUT_WORDS.read_text(encoding="utf-8"))
    return frozenset(name for code in ("all", language) for name in listed.get(code, []))


def names_of_lost(line: str, without_words: frozenset[str]) -> list[str]:
    """Return the names of templates in a line that show words."""
    names = (" ".join(found[1].replace("_", " ").lower().split()) for found in TEMPLATE.finditer(line))
    return [name for name in names if name not in without_words and not name.startswith(("#", "ref", "ipa"))]


def measure(path: Path) -> tuple[str, Counter[str]]:
    """Return a row for a dump, and the names of its lost templates."""
    _, dump = recognise_dump(path)
    site = read_siteinfo(path, dump.language)
    without_words = templates_without_words(site.language)
    lines = before = after = 0
    names = Counter[str]()
    for page in iterate_pages(Shard(dump, 0, path.stat().st_size)):
        if reason_to_skip(page, site):
            continue
        for line in prose_lines(page.text):
            lines += 1
            before += bool(names_of_lost(line, without_words))
            lost = names_of_lost(show_templates(line, site.language), without_words)
            after += bool(lost)
            names.update(lost)
    if not lines:
        return f"| {path.name} | 0 | | |", names
    return f"| {path.name} | {lines:,} | {100 * before / lines:.1f} % | {100 * after / lines:.1f} % |", names
