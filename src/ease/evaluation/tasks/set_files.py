"""Files of evaluation sets as rows of named fields, and the base of the tasks that differ in their files only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.tasks import AVERAGE, Files, SubsetOptions, Task, TaskOptions, no_set
from ease.io.models import StrictModel, Words, split_words
from ease.io.names import suggest
from ease.io.text_tables import find_columns, read_lines, read_parallel_lines, read_records, read_rows

Form = Literal["csv", "tsv", "jsonl", "parquet", "lines", "label_tab_text", "semeval"]
ENDINGS: dict[str, Form] = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet"},
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
}
COMPRESSED = (".gz", ".bz2")
ANYWHERE = "**/"
"""Begins the name of a file that may be in any folder below `path`."""

Fields = dict[str, str]
"""Texts of a row by the roles of their columns."""
Column = int | str | tuple[str, ...]


class SetFiles(StrictModel):
    """The files of a set and how they are read."""

    file: str | tuple[str, ...] = Field(
        "",
        description="below the task's `path`, or absolute; `{subset}` is the subset, `{left}` and `{right}` are its "
        "parts around the last dash, `{part}` is each of `parts`",
    )
    parts: tuple[str, ...] = Field((), description="parts of a set, each with the same kinds of files")
    format: Form | None = Field(
        None,
        description="`lines`: row i is the line i of each file; `semeval`: a file of pairs and one of grades; null: by "
        "the file's ending",
    )
    skip: int = Field(0, ge=0, description="rows before the first one, if columns are given by number")
    quoted: bool | None = Field(None, description="quotation marks enclose fields; null: in `csv`")
    columns: dict[str, Column | None] = Field(
        {},
        description="a column's name, its number from 1 (-1: the last), or several names: the first not blank",
    )
    licence: str = Field("", description="licence of the texts")
    otherwise: SetFiles | None = Field(None, description="used if these files are missing and its own exist")

    def over(self, other: SetFiles | None) -> Self:
        """Return these values with those that another one sets."""
        if other is None:
            return self
        own = {name: getattr(other, name) for name in other.model_fields_set if hasattr(self, name)}
        return self.model_copy(update={**own, "columns": {**self.columns, **other.columns}})


class Sides(NamedTuple):
    """Sentences of two languages; row i of one is the translation of row i of the other."""

    left: list[str]
    right: list[str]


class TableOptions(SubsetOptions, SetFiles):
    """The sets of a task: those named in `names` have the task's own `file`, those of `sets` may have others."""

    names: Words = Field((), description="names of sets that have the task's own `file`")
    sets: Mapping[str, SetFiles] = Field(
        {}, description="other sets by name, with what differs from the task's own files"
    )
    average: Literal["all", "chosen", "none"] = Field(
        "all",
        description="mean over all sets (with a note if some are not scored), over the chosen ones, or none",
    )
    groups: dict[str, Words] = Field({}, description="sets of further averages")

    @model_validator(mode="after")
    def _fit(self) -> Self:
        for name in (*self.names, *self.sets):
            if name.startswith(AVERAGE):
                raise EaseError(f"A set may not be named {name!r}, which begins like an average: rename it.")
        for role in {role for own in self.sets.values() for role in own.columns} - set(self.columns):
            raise EaseError(f"`columns` have no {role!r}: {suggest(role, sorted(self.columns))}")
        return self

    @property
    def known(self) -> tuple[str, ...]:
        """The names of all sets."""
        return (*self.names, *(name for name in self.sets if name not in self.names))

    def form(self, subset: str) -> SetFiles:
        """Return the files of a set and how they are read: the first form whose files exist, or the first one."""
        first = form = SetFiles.over(self, self.sets.get(subset))
        while not all(path.exists() for path in self.locate(form, subset)):
            if form.otherwise is None:
                return first
            form = form.over(form.otherwise).model_copy(update={"otherwise": form.otherwise.otherwise})
        return form

    def locate(self, form: SetFiles, subset: str) -> tuple[Path, ...]:
        """Return the paths of a form's files."""
        names = (form.file,) if isinstance(form.file, str) else form.file
        parts = form.parts or ("",)
        return tuple(self._path(self.fill(name, subset, part)) for part in parts for name in names)

    def fill(self, name: str, subset: str, part: str = "") -> str:
        """Return the name of a file or a column with the parts of a set's name in it."""
        left, _, right = subset.rpartition("-")
        for key, value in {"subset": subset, "left": left, "right": right, "part": part}.items():
            name = name.replace(f"{{{key}}}", value)
        return name

    def _path(self, name: str) -> Path:
        if not name.startswith(ANYWHERE):
            return self.path / name
        plain = self.path / name.removeprefix(ANYWHERE)
        return plain if plain.exists() else next(iter(sorted(self.path.glob(name))), plain)


class TableTask(Task):
    """A task whose sets are tables; several tasks of one kind differ in their files only."""

    Options: ClassVar[type[TaskOptions]] = TableOptions

    def __init__(self, name: str, configured: Mapping[str, Any]) -> None:
        super().__init__(name, configured)
        self.groups = {group: split_words(own) for group, own in configured.get("groups", {}).items()}

    def files(self, options: TableOptions) -> Files:
        """Return the files of each chosen set."""
        if options.subsets and not options.known:
            raise EaseError(no_set(self.name, options.subsets[0]))
        chosen = options.chosen(options.known)
        return {subset: options.locate(options.form(subset), subset) for subset in chosen}

    def wanted(self, options: TableOptions) -> int:
        """Return the number of sets of the average."""
        if options.average == "none":
            return 0
        return len(options.known if options.average == "all" else options.chosen(options.known))

    def rows(self, options: TableOptions, subset: str, paths: Sequence[Path]) -> Iterator[tuple[str, Fields]]:
        """Yield the place and the fields of each row of a set."""
        form = options.form(subset)
        columns = {
            role: options.fill(column, subset) if isinstance(column, str) else column
            for role, column in form.columns.items()
            if column is not None
        }
        return read_fields(paths, columns, form)


def required(place: str, row: Fields, *roles: str) -> list[str]:
    """Return the texts of roles, none of which may be blank."""
    for role in roles:
        if not row[role]:
            raise EaseError(
                f"{place}: the {role} is blank; fill it in, remove the row, or fetch the file again."
            )
    return [row[role] for role in roles]


def read_fields(
    paths: Sequence[Path], columns: Mapping[str, Column], form: SetFiles
) -> Iterator[tuple[str, Fields]]:
    """Yield the place and the stripped fields of each row of files."""
    kind = form.format or _by_ending(paths[0])
    if kind == "lines":
        number = max(int(column) for column in columns.values() if isinstance(column, int))
        for start in range(0, len(paths), number):
            group = paths[start : start + number]
            for line, texts in read_parallel_lines(group):
                place = f"{' and '.join(map(str, group))}, line {line}"
                yield place, {role: texts[int(column) - 1].strip() for role, column in columns.items()}  # type: ignore[arg-type]
        return
    for path in paths:
        for place, row in _records(path, kind, columns, form):
            yield place, {role: _text(place, _value(row, column)) for role, column in columns.items()}


def _by_ending(path: Path) -> Form:
    endings = [suffix.lower() for suffix in reversed(path.suffixes)]
    ending = next((suffix for suffix in endings if suffix not in COMPRESSED), "")
    if ending not in ENDINGS:
        raise EaseError(
            f"{path}: the ending {ending!r} is unknown: name the file by what it is, one of {', '.join(ENDINGS)}, or "
            "give its `format`."
        )
    return ENDINGS[ending]


def _records(
    path: Path, kind: Form, columns: Mapping[str, Column], form: SetFiles
) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    names = [column for column in columns.values() if isinstance(column, str)]
    if kind == "jsonl":
        return read_objects(path, names)
    if kind == "parquet":
        return read_parquet(path, names)
    if kind == "label_tab_text":
        return _labels_and_texts(path)
    delimiter, quoted = "," if kind == "csv" else "\t", kind == "csv" if form.quoted is None else form.quoted
    if names:
        return read_records(path, names, delimiter, quoted=quoted)
    return _numbered(path, [int(c) for c in columns.values()], delimiter, quoted, form.skip)  # type: ignore[arg-type]


def _value(row: Mapping[Any, Any], column: Column) -> Any:
    """Return the value of a column, or of the first of several columns that has one."""
    if not isinstance(column, tuple):
        return row[column]
    return next((row[name] for name in column if row.get(name) not in (None, "")), None)


def _text(place: str, value: Any) -> str:
    if isinstance(value, dict | list):
        raise EaseError(f"{place}: {value!r} is not text but a {type(value).__name__}; give a row for each.")
    return "" if value is None else str(value).strip()


def _numbered(
    path: Path, columns: Sequence[int], delimiter: str, quoted: bool, skip: int
) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield rows of a file whose columns have numbers; -1 is the last of as many columns as the first row has."""
    rows = ((number, row) for number, row in read_rows(path, delimiter, quoted=quoted) if any(row))
    width = 0
    for place, (number, row) in enumerate(rows):
        width = width or len(row)
        if len(row) < max(columns) or (min(columns) < 0 and len(row) != width):
            raise EaseError(f"{path}, line {number}: {len(row)} columns instead of {max(*columns, width)}.")
        if place >= skip:
            yield f"{path}, line {number}", {c: row[c - 1 if c > 0 else c] for c in columns}


def _labels_and_texts(path: Path) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield lines of a label, a tab and a text, which may contain tabs; blank lines are skipped."""
    for number, line in read_lines(path):
        label, tab, text = line.partition("\t")
        if not tab and line.strip():
            raise EaseError(
                f"{path}, line {number}: no tab between a label and a text; is it another kind of file?"
            )
        if line.strip():
            yield f"{path}, line {number}", {1: label, 2: text}


def read_objects(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
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
        find_columns(path, names, list(row))
        yield place, row


def read_parquet(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each row of a Parquet file that has these columns."""
    try:
        table = pq.ParquetFile(path).read()
    except OSError as error:
        raise EaseError(
            f"{path}: cannot be read ({error.strerror or error}); set the task's `path`."
        ) from error
    except pa.ArrowInvalid as error:
        raise EaseError(f"{path}: not a complete Parquet file ({error}); make it again.") from error
    find_columns(path, names, table.column_names)
    for number, row in enumerate(table.select(names).to_pylist(), start=1):
        yield f"{path}, row {number}", row
