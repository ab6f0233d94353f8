"""Texts with class labels: one or two files of lines in UTF-8."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ease.errors import EaseError
from ease.io.text_tables import read_lines, read_parallel_lines


@dataclass(frozen=True)
class LabelledTexts:
    """Texts, stripped of white space at their ends, with their labels, and how many blank ones were left out."""

    texts: list[str]
    labels: list[str]
    blank: int = 0

    @property
    def note(self) -> str:
        """What a reader of scores must know."""
        return f"blank texts left out: {self.blank}" if self.blank else ""


def gather(path: Path, rows: Iterable[tuple[str, str, str]]) -> LabelledTexts:
    """Leave out blank texts and count them.

    Args:
        path: For errors.
        rows: Place (for errors), label and text.

    Raises:
        EaseError: Naming the row whose label is missing, or the file if it holds no text.
    """
    texts, labels, blank = [], [], 0
    for place, label, text in rows:
        if not label.strip():
            raise EaseError(f"{place}: the label is missing; fetch or make the file again.")
        if text.strip():
            texts.append(text.strip())
            labels.append(label.strip())
        else:
            blank += 1
    if not texts:
        raise EaseError(f"{path}: holds no text; fetch or make the file again.")
    return LabelledTexts(texts, labels, blank)


def read_tab_separated(
    path: Path, known: Collection[str] | None = None, clean: Callable[[str], str] = str.strip
) -> LabelledTexts:
    """Read lines of a label, a tab and a text, which may hold further tabs; empty lines are passed over.

    Args:
        path: The file.
        known: The labels that there may be; None: any.
        clean: Applied to each text.

    Raises:
        EaseError: Naming the line without a tab, with a label that is not known, or whose text `clean` refuses.
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
                raise EaseError(f"{place}: the label {label!r} is none of {', '.join(sorted(known))}.")
            try:
                cleaned = clean(text)
            except ValueError as error:
                raise EaseError(f"{place}: {error}") from error
            yield place, label, cleaned

    return gather(path, rows())


def read_paired(texts: Path, labels: Path) -> LabelledTexts:
    """Read a file of texts and one of labels, line by line.

    Raises:
        EaseError: Naming both files, if they have not as many lines; the line whose label is missing.
    """
    pairs = read_parallel_lines([texts, labels])
    return gather(texts, ((f"{labels}, line {number}", label, text) for number, (text, label) in pairs))


def read_json_lines(path: Path, text: str, label: str) -> LabelledTexts:
    """Read lines of JSON objects.

    Args:
        path: The file.
        text: Name of the text's field.
        label: Name of the label's field.

    Raises:
        EaseError: Naming the file and line that is no object with both fields.
    """

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in read_lines(path):
            if not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                row = json.loads(line)
                named, said = row[label], row[text]
            except (ValueError, TypeError) as error:
                raise EaseError(f"{place}: no JSON object ({error}).") from error
            except KeyError as error:
                raise EaseError(f"{place}: no field {error} among {', '.join(map(repr, row))}.") from error
            yield place, "" if named is None else str(named), "" if said is None else str(said)

    return gather(path, rows())
