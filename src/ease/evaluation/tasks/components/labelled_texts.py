"""Texts with class labels, read from one or two text files. Errors name the file and line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ease.errors import EaseError
from ease.io.text_tables import read_lines, read_parallel_lines


@dataclass(frozen=True)
class LabelledTexts:
    """Stripped texts, their labels, and the number of skipped blank texts."""

    texts: list[str]
    labels: list[str]
    blank: int = 0

    @property
    def note(self) -> str:
        """Note shown beside the score."""
        return f"blank texts skipped: {self.blank}" if self.blank else ""


def collect_texts(path: Path, rows: Iterable[tuple[str, Any, Any]]) -> LabelledTexts:
    """Collect rows of a place (for messages), a label and a text of the file `path`; blank texts are skipped."""
    texts, labels, blank = [], [], 0
    for place, *row in rows:
        label, text = ("" if value is None else str(value).strip() for value in row)
        if not label:
            raise EaseError(f"{place}: the label is missing; fetch or make the file again.")
        if text:
            texts.append(text)
            labels.append(label)
        else:
            blank += 1
    if not texts:
        raise EaseError(f"{path}: contains no text; fetch or make the file again.")
    return LabelledTexts(texts, labels, blank)


def read_tab_separated(
    path: Path, known: Collection[str] | None = None, clean: Callable[[str], str] = str.strip
) -> LabelledTexts:
    """Read lines of a label, a tab and a text, which may contain tabs; blank lines are skipped.

    Args:
        path: The file.
        known: Allowed labels; None allows any.
        clean: Function applied to each text; its ValueErrors are reported with the line.
    """

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in read_lines(path):
            place = f"{path}, line {number}"
            label, tab, text = line.partition("\t")
            if not tab:
                if not line.strip():
                    continue
                raise EaseError(f"{place}: no tab between a label and a text; is it another kind of file?")
            if known is not None and label.strip() and label.strip() not in known:
                raise EaseError(f"{place}: the label {label!r} is not one of {', '.join(sorted(known))}.")
            try:
                yield place, label, clean(text)
            except ValueError as error:
                raise EaseError(f"{place}: {error}") from error

    return collect_texts(path, rows())


def read_paired(texts: Path, labels: Path) -> LabelledTexts:
    """Read a file of texts and a file of labels, line by line."""
    pairs = read_parallel_lines([texts, labels])
    return collect_texts(
        texts, ((f"{labels}, line {number}", label, text) for number, (text, label) in pairs)
    )


def read_objects(path: Path, fields: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each line's JSON object, which has these fields; blank lines are skipped."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise EaseError(f"{place}, column {error.colno}: not a JSON object ({error.msg}).") from error
        if not isinstance(row, dict):
            raise EaseError(f"{place}: not a JSON object.")
        for field in fields:
            if field not in row:
                raise EaseError(f"{place}: no field {field!r} among {', '.join(map(repr, row))}.")
        yield place, row
