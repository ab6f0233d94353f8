"""Write MewsC-16: a table and the paper's two text files for each language, and the data set card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jinja2 import StrictUndefined, Template

from ease.io.data_files import read_data_file

NEWS = pa.schema(
    [
        ("sentence", pa.string()),
        ("category", pa.string()),
        ("page_id", pa.int64()),
        ("title", pa.string()),
        ("revision_id", pa.int64()),
        ("dump_date", pa.string()),
    ]
)
"""`category` is the topic in English; `dump_date` is YYYYMMDD, or null if unknown."""


class NewsSource(NamedTuple):
    """Name of the dumps' source, its licence as the hub spells it, and the attribution."""

    name: str
    hub_licence: str
    attribution: str


WIKINEWS = NewsSource(**read_data_file("ease.wikimedia.wikinews", "source.yml"))


class Written(NamedTuple):
    """Pages by topic in a language's files, dropped small topics, and the number of repeated pages."""

    classes: dict[str, int]
    dropped: dict[str, int]
    repeated: int


def write_language(folder: Path, language: str, parts: Sequence[Path], min_class_size: int) -> Written:
    """Write the files of a language sorted by page id; no files if nothing is left.

    If two dump files have a page, the first file's is kept. One language's rows are held in memory as Arrow columns.
    """
    found = pa.concat_tables([NEWS.empty_table(), *(pq.read_table(part, schema=NEWS) for part in parts)])
    _, first = np.unique(found["page_id"].to_numpy(), return_index=True)
    table = found.take(pa.array(first))
    sizes = {row["values"]: row["counts"] for row in table["category"].value_counts().to_pylist()}
    classes = {name: size for name, size in sorted(sizes.items()) if size >= min_class_size}
    dropped = {name: size for name, size in sorted(sizes.items()) if size < min_class_size}
    if classes:
        table = table.filter(pc.is_in(table["category"], pa.array(classes)))
        pq.write_table(table, folder / f"{language}.parquet", compression="zstd")
        _write_lines(folder / f"{language}_sentences.txt", table["sentence"])
        _write_lines(folder / f"{language}_categories.txt", table["category"])
    return Written(classes, dropped, found.num_rows - len(first))


def _write_lines(path: Path, column: pa.ChunkedArray) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for chunk in column.chunks:
            file.writelines(f"{line}\n" for line in chunk.to_pylist())


def write_card(
    folder: Path, counts: Mapping[str, Mapping[str, Any]], min_class_size: int, source: NewsSource
) -> None:
    """Write README.md: the hub's metadata, then content, method, statistics, sources and attribution."""
    written = {language: found for language, found in sorted(counts.items()) if found["sentences"]}
    topics = sorted({topic for found in written.values() for topic in found["classes"]})
    template = Template(
        files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8"),
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    card = template.render(counts=written, topics=topics, min_class_size=min_class_size, source=source)
    (folder / "README.md").write_text(f"{card}\n", encoding="utf-8")
