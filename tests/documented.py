"""Commands in the documents: lines of code blocks and inline code."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.project import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "conf/README.md", "docs/*.md", "notebooks/*.ipynb")
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
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
    paths = sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern))
    found = ((path.relative_to(ROOT).as_posix(), code) for path in paths for code in _code(_text(path)))
    commands: dict[tuple[str, ...], str] = {}
    for name, code in found:
        if COMMAND.match(code):
            commands.setdefault(_words(code), name)
    return [Documented(name, words) for words, name in commands.items()]


def _text(path: Path) -> str:
    """Return a document's Markdown; for a notebook, that of its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def _code(text: str) -> Iterator[str]:
    """Yield lines of code blocks, fenced or indented, and inline code."""
    blocks = [*FENCE.findall(text), *re.findall(r"^    +(\S.*)$", FENCE.sub("", text), re.MULTILINE)]
    for block in blocks:
        yield from (line.strip() for line in block.replace("\\\n", " ").splitlines())
    inline = re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCE.sub("", text))
    yield from (" ".join(code.split()) for code in inline)


def _words(code: str) -> tuple[str, ...]:
    """Split a command like a shell, without comments."""
    return tuple(shlex.split(code, comments=True))
