"""Commands in the documents: lines of code blocks and inline code."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import NamedTuple

from tests.project import ROOT

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "conf/README.md",
    "docs/*.md",
    "notebooks/*.ipynb",
    "src/ease/project/template/README.md",
)
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    +(\S.*)$", re.MULTILINE)
ASSIGNMENT = re.compile(r"([a-z_]+)=(\S+)")
COMMAND = re.compile(
    r"(kedro|make|torchrun|python -m)( |$)|\.venv/bin/\S|--[a-z-]+[= ]\S|(?!training\.)[a-z_]+(\.[a-z_]+)+=\S"
)


class Documented(NamedTuple):
    """A command and the document that contains it."""

    document: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.document}: {shlex.join(self.words)}"


def documented_commands() -> list[Documented]:
    """Return every command of the documents, with the first document that contains it."""
    commands: dict[tuple[str, ...], str] = {}
    for name, text in documents():
        for code in _code(text):
            if COMMAND.match(code):
                commands.setdefault(_words(code), name)
    return [Documented(name, words) for words, name in commands.items()]


def documents() -> Iterator[tuple[str, str]]:
    """Yield the name and the Markdown of every document."""
    for path in sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern)):
        yield path.relative_to(ROOT).as_posix(), _text(path)


def lines_to_copy(text: str) -> list[str]:
    """Return the lines of code blocks, fenced or indented, and inline commands, as a reader sees them."""
    blocks = [*FENCE.findall(text), *INDENTED.findall(FENCE.sub("", text))]
    lines = [line for block in blocks for line in block.splitlines()]
    return [*lines, *(code for code in _inline(text) if COMMAND.match(code))]


def _text(path: Path) -> str:
    """Return a document's Markdown; for a notebook, that of its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def _code(text: str) -> Iterator[str]:
    """Yield lines of code blocks, fenced or indented, and inline code."""
    for block in [*FENCE.findall(text), *INDENTED.findall(FENCE.sub("", text))]:
        variables: dict[str, str] = {}
        for line in block.replace("\\\n", " ").splitlines():
            code = Template(line.strip()).safe_substitute(variables)
            if assigned := ASSIGNMENT.fullmatch(code):
                variables[assigned[1]] = assigned[2]
            yield code
    yield from _inline(text)


def _inline(text: str) -> list[str]:
    """Return the inline code of a document."""
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCE.sub("", text))]


def _words(code: str) -> tuple[str, ...]:
    """Split a command like a shell, without comments."""
    return tuple(shlex.split(code, comments=True))
