"""Files of evaluation sets as rows of named fields, and the base of the tasks that differ in their files only."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.scores import AVERAGE
from ease.evaluation.tasks.base import (
    SubsetFiles,
    SubsetOptions,
    Task,
    TaskOptions,
    Texts,
    error_prefix,
    fill_subset,
    no_set,
)
from ease.io.contents import explain_fault
from ease.io.text_tables import find_columns, read_lines, read_parallel_lines, read_records, read_rows
from ease.names import suggest
from ease.options import StrictModel, Words

FileFormat = Literal["csv", "tsv", "jsonl", "parquet", "lines", "label_tab_text", "semeval"]
ENDINGS: dict[str, FileFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".json": "jsonl",
}
COMPRESSED = (".gz", ".bz2")
ANYWHERE = "**/"
"""Beginning of the name of a file that may be in any folder below `path`"""


class Fields(dict[str, str]):
    """Texts of a row by the roles of their columns."""

    def __missing__(self, role: str) -> str:
        """Say that the configuration lacks a column, not that the file does."""
        raise EaseError(f"`columns` lack {role!r}: give the name or the number of its column.")


FieldSource = int | str | Annotated[tuple[str, ...], Field(min_length=1)]
"""A column's number from 1, its name, or several names: the first that is not blank"""


class SetFiles(StrictModel):
    """The files of a set and how they are read."""

    file: str | tuple[str, ...] = Field(
        "",
        description="below the task's `path`, or absolute; `{subset}` is the subset, `{left}` and `{right}` are its "
        "parts around the last dash, `{part}` is each of `parts`",
    )
    parts: tuple[str, ...] = Field((), description="parts of a set, each with the same kinds of files")
    format: FileFormat | None = Field(
        None,
        description="`lines`: row i is the line i of each file; `semeval`: a file of pairs and one of grades; null: by "
        "the file's ending",
    )
    skip: int = Field(0, ge=0, description="rows before the first one, if columns are given by number")
    quoted: bool | None = Field(None, description="quotation marks enclose fields; null: in `csv`")
    columns: dict[str, FieldSource | None] = Field(
        {}, description="a column's name, its number from 1 (-1: the last), or several names: the first not blank"
    )
    licence: str = Field("", description="licence of the texts")
    otherwise: SetFiles | None = Field(None, description="used if these files are missing and its own exist")

    def changed_by(self, other: SetFiles) -> Self:
        """Return these values with those that another one sets."""
        changes = {name: getattr(other, name) for name in other.model_fields_set if hasattr(self, name)}
        return self.model_copy(update={**changes, "columns": {**self.columns, **other.columns}})


class Sides(NamedTuple):
    """Sentences of two languages; row i of one is the translation of row i of the other."""

    left: list[str]
    right: list[str]


class Labelled(NamedTuple):
    """Texts or pairs of texts, their labels, and a note on skipped rows."""

    texts: Texts
    labels: list[str]
    note: str = ""


class TableOptions(SubsetOptions, SetFiles):
    """The sets of a task: those named in `names` have the task's own `file`, those of `sets` may have others."""

    names: Words = Field((), description="names of sets that have the task's own `file`")
    sets: Mapping[str, SetFiles] = Field(
        {}, description="other sets by name, with what differs from the task's own files"
    )
    average: Literal["all", "chosen", "none"] = Field(
        "all", description="mean over all sets (with a note if some are not scored), over the chosen ones, or none"
    )
    groups: dict[str, Words] = Field({}, description="sets of further averages")

    @model_validator(mode="after")
    def _fit(self) -> Self:
        for name in (*self.names, *self.sets):
            if not name.strip():
                raise EaseError(f"A set may not be named {name!r}: give it a name that is not blank.")
            if name.startswith(AVERAGE):
                raise EaseError(f"A set may not be named {name!r}, which begins like an average: rename it.")
        roles = {role for files in self.sets.values() for role in files.columns}
        for role in roles - set(self.columns):
            raise EaseError(f"`columns` have no {role!r}: {suggest(role, sorted(self.columns))}")
        for group, subsets in self.groups.items():
            for name in subsets:
                if self.set_names and name not in self.set_names:
                    raise EaseError(f"`groups.{group}` has no set {name!r}: {suggest(name, sorted(self.set_names))}")
        return self

    @property
    def set_names(self) -> tuple[str, ...]:
        """The names of all sets."""
        return (*self.names, *(name for name in self.sets if name not in self.names))

    def form(self, subset: str) -> SetFiles:
        """Return the files of a set and how they are read: the first form whose files exist, or the first one."""
        first = self.changed_by(self.sets.get(subset, SetFiles()))
        form = first
        while not all(path.exists() for path in self.locate(form, subset)):
            if form.otherwise is None:
                return first
            # Without this update, a form whose `otherwise` has none of its own would be tried again and again.
            form = form.changed_by(form.otherwise).model_copy(update={"otherwise": form.otherwise.otherwise})
        return form

    def locate(self, form: SetFiles, subset: str) -> tuple[Path, ...]:
        """Return the paths of a form's files."""
        names = (form.file,) if isinstance(form.file, str) else form.file
        paths = []
        for part, name in product(form.parts or ("",), names):
            filled = self.fill(name, subset, part)
            path = self.path / filled.removeprefix(ANYWHERE)
            if filled.startswith(ANYWHERE) and not path.exists():
                path = next(iter(sorted(self.path.glob(filled))), path)
            paths.append(path)
        return tuple(paths)

    def columns_of(self, form: SetFiles, subset: str) -> dict[str, FieldSource]:
        """Return the columns of a set by role; a role without a column, such as `gain: null`, is not in it."""
        columns: dict[str, FieldSource] = {}
        for role, column in form.columns.items():
            if isinstance(column, str):
                columns[role] = self.fill(column, subset)
            elif column is not None:
                columns[role] = column
        return columns

    def fill(self, name: str, subset: str, part: str = "") -> str:
        """Return the name of a file or a column with the parts of a set's name in it."""
        return fill_subset(name, subset).replace("{part}", part)


class TableTask(Task):
    """A task whose sets are tables; several tasks of one kind differ in their files only."""

    Options: ClassVar[type[TaskOptions]] = TableOptions
    options: TableOptions

    @property
    def groups(self) -> Mapping[str, Collection[str]]:
        """Sets of the averages `average_<group>`."""
        return self.options.groups

    def files(self) -> SubsetFiles:
        """Return the files of each set to score."""
        options = self.options
        if options.subsets and not options.set_names:
            raise EaseError(no_set(self.name, options.subsets[0]))
        files = {}
        for subset in options.select(options.set_names):
            form = options.form(subset)
            files[subset] = options.locate(form, subset)
            with error_prefix(f"the set {subset!r}"):
                _check_files(files[subset], options.columns_of(form, subset), form)
        return files

    def complete_count(self) -> int:
        """Return the number of sets of the average."""
        names = self.options.set_names
        counts = {"none": 0, "all": len(names), "chosen": len(self.options.subsets or names)}
        return counts[self.options.average]

    def rows(self, subset: str, paths: Sequence[Path]) -> Iterator[tuple[str, Fields]]:
        """Yield the place and the fields of each row of a set."""
        form = self.options.form(subset)
        return read_fields(paths, self.options.columns_of(form, subset), form)


def required(place: str, row: Fields, *roles: str) -> list[str]:
    """Return the texts of roles, none of which may be blank."""
    for role in roles:
        if not row[role]:
            raise EaseError(f"{place}: the {role} is blank; fill it in, remove the row, or fetch the file again.")
    return [row[role] for role in roles]


def collect_labelled(
    path: Path, rows: Iterable[tuple[str, str, tuple[str, ...]]], classes: Collection[str] = (), untranslated: str = ""
) -> Labelled:
    """Collect the labels and the texts of a file's rows; skip rows with a blank or untranslated text.

    Args:
        path: The file, for error messages.
        rows: The place, the label and the texts of each row.
        classes: The labels that there may be; empty: any.
        untranslated: What rows without a translation have as a text.
    """
    texts: Texts = []
    labels = []
    skipped = 0
    for place, label, row_texts in rows:
        if not label:
            raise EaseError(f"{place}: the label is missing; fetch or make the file again.")
        if classes and label not in classes:
            raise EaseError(f"{place}: the label {label!r} is not one of {', '.join(classes)}.")
        if {"", untranslated}.isdisjoint(row_texts):
            texts.append(row_texts)
            labels.append(label)
        else:
            skipped += 1
    if not texts:
        raise EaseError(f"{path}: contains no complete row; fetch or make the file again.")
    note = ""
    if skipped:
        note = f"{'untranslated pairs' if untranslated else 'blank texts'} skipped: {skipped}"
    return Labelled(texts, labels, note)


def read_fields(
    paths: Sequence[Path], columns: Mapping[str, FieldSource], form: SetFiles
) -> Iterator[tuple[str, Fields]]:
    """Yield the place and the stripped fields of each row of files."""
    if not columns:
        raise EaseError(f"{paths[0]}: `columns` are missing; give the name or the number of each text's column.")
    file_format = _format_of(paths[0], form)
    if file_format is None:
        raise EaseError(
            f"{paths[0]}: the ending {_ending(paths[0])!r} is unknown: name the file by what it is, one of "
            f"{', '.join(ENDINGS)}, or give its `format`."
        )
    for place, row in _records(paths, file_format, columns, form):
        fields = Fields()
        for role, column in columns.items():
            alternatives = column if isinstance(column, tuple) else (column,)
            if row.keys().isdisjoint(alternatives):
                raise EaseError(f"{place}: no column {', '.join(map(str, alternatives))}; give the {role}'s.")
            value = next((row[name] for name in alternatives if row.get(name) not in (None, "")), "")
            if isinstance(value, dict | list):
                raise EaseError(f"{place}: {value!r} is not text but a {type(value).__name__}; give a row for each.")
            fields[role] = str(value).strip()
        yield place, fields


def _ending(path: Path) -> str:
    """Return the ending of a file's name without that of its compression."""
    return next((ending for ending in map(str.lower, reversed(path.suffixes)) if ending not in COMPRESSED), "")


def _format_of(path: Path, form: SetFiles) -> FileFormat | None:
    """Return the format of a set's files; None if it is neither given nor that of the ending."""
    return form.format or ENDINGS.get(_ending(path))


def _check_files(paths: Sequence[Path], columns: Mapping[str, FieldSource], form: SetFiles) -> None:
    """Refuse files and columns of which one would be read twice, or an option that nothing reads."""
    if len(set(paths)) < len(paths):
        twice = next(path for number, path in enumerate(paths) if path in paths[:number])
        raise EaseError(f"`file` names {twice} twice: name different files.")
    roles: dict[Any, str] = {}
    for role, column in columns.items():
        first = column[0] if isinstance(column, tuple) else column
        if first in roles:
            raise EaseError(
                f"`columns` have {first!r} for {roles[first]} and for {role}: give each a column of its own."
            )
        roles[first] = role
    if not roles:
        return
    are_numbers = {isinstance(column, int) for column in columns.values()}
    if len(are_numbers) > 1:
        columns_by_role = ", ".join(f"{role}: {column}" for column, role in roles.items())
        raise EaseError(f"`columns` have names and numbers ({columns_by_role}): give the names of all, or all numbers.")
    file_format = _format_of(paths[0], form)
    if are_numbers == {True} and file_format in ("jsonl", "parquet"):
        raise EaseError(f"`columns` of a {file_format} file are names, not numbers.")
    if form.skip and (are_numbers == {False} or file_format not in ("csv", "tsv")):
        raise EaseError(
            "`skip` is for csv and tsv files whose columns are given by number; where they are named, the first row is "
            "the header: remove `skip`."
        )


def _records(
    paths: Sequence[Path], file_format: FileFormat, columns: Mapping[str, FieldSource], form: SetFiles
) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the place and the columns of each row, by name or by number."""
    names = [column for column in columns.values() if isinstance(column, str)]
    alternatives = [name for column in columns.values() if isinstance(column, tuple) for name in column]
    numbers = [column for column in columns.values() if isinstance(column, int)]
    if file_format == "lines":
        if len(numbers) < len(columns) or min(numbers) < 1:
            raise EaseError(f"{paths[0]}: `columns` of files of lines are the files' numbers, from 1.")
        # Of several parts, each has as many files as there are columns.
        for start in range(0, len(paths), max(numbers)):
            group = paths[start : start + max(numbers)]
            for line, texts in read_parallel_lines(group):
                yield f"{' and '.join(map(str, group))}, line {line}", dict(enumerate(texts, start=1))
        return
    is_csv = file_format == "csv"
    delimiter = "," if is_csv else "\t"
    quoted = is_csv if form.quoted is None else form.quoted
    for path in paths:
        if file_format == "jsonl":
            yield from read_objects(path, names)
        elif file_format == "parquet":
            yield from read_parquet_rows(path, names, alternatives)
        elif file_format == "label_tab_text":
            yield from _labels_and_texts(path)
        elif names or alternatives:
            yield from read_records(path, names, delimiter, quoted=quoted)
        else:
            yield from _numbered(path, numbers, delimiter, quoted, form.skip)


def read_pairs(path: Path, what: str) -> Iterator[tuple[str, str, str]]:
    """Yield the place and both fields of each line; refuse an empty file, and lines but two fields and a tab."""
    place = ""
    for number, line in read_lines(path):
        fields = [field.strip() for field in line.split("\t")]
        if any(fields):
            place = f"{path}, line {number}"
            if len(fields) != 2 or not all(fields):
                raise EaseError(f"{place}: not {what} with one tab between; fetch the file again.")
            yield place, fields[0], fields[1]
    if not place:
        raise EaseError(f"{path}: contains no line of {what}; fetch it again.")


def _numbered(
    path: Path, columns: Sequence[int], delimiter: str, quoted: bool, skip: int
) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield rows of a file whose columns have numbers; -1 is the last."""
    if any(column == 0 or column < -1 for column in columns):
        raise EaseError(f"{path}: `columns` are numbered from 1, and -1 is the last.")
    rows = ((number, row) for number, row in read_rows(path, delimiter, quoted=quoted) if any(row))
    for number, row in islice(rows, skip, None):
        if len(row) < max(columns):
            raise EaseError(f"{path}, line {number}: {len(row)} columns instead of {max(columns)}.")
        yield f"{path}, line {number}", {column: row[column - 1 if column > 0 else column] for column in columns}


def _labels_and_texts(path: Path) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield lines of a label, a tab and a text, which may contain tabs; blank lines are skipped."""
    for number, line in read_lines(path):
        if line.strip():
            label, tab, text = line.partition("\t")
            if not tab:
                raise EaseError(
                    f"{path}, line {number}: no tab between a label and a text; is it another kind of file?"
                )
            yield f"{path}, line {number}", {1: label, 2: text}


def read_objects(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each line's JSON object, which has these fields; blank lines are skipped."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        advice = "give one JSON object a line"
        if line.lstrip().startswith("["):
            advice += ", not an array (`jq -c '.[]'` rewrites it)"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise EaseError(f"{place}, column {error.colno}: not a JSON object ({error.msg}): {advice}.") from error
        if not isinstance(row, dict):
            raise EaseError(f"{place}: not a JSON object: {advice}.")
        find_columns(path, names, list(row))
        yield place, row


def read_parquet_rows(
    path: Path, names: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each row of a Parquet file that has these columns, and perhaps others."""
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowInvalid) as error:
        raise EaseError(f"{path}: not a complete Parquet file ({explain_fault(path, error)}).") from error
    find_columns(path, names, table.column_names)
    columns = dict.fromkeys([*names, *(name for name in optional if name in table.column_names)])
    for number, row in enumerate(table.select(list(columns)).to_pylist(), start=1):
        yield f"{path}, row {number}", row
