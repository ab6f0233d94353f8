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
import yaml

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


WIKINEWS = NewsSource(
    "Wikinews",
    "cc-by-2.5",
    "The text is by the authors of Wikinews, under Creative Commons Attribution 2.5\n"
    "(https://creativecommons.org/licenses/by/2.5/); of before 25 September 2005 most is in the public domain, and a\n"
    "wiki that has moved to a later version of the licence says so on its copyright page. Whoever shares it names\n"
    "Wikinews and the licence and links to the articles: `https://{language}.wikinews.org/?curid={page_id}`, or as\n"
    "it was read `?oldid={revision_id}`, where also its authors are listed.",
)


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
    languages = sorted(language for language, found in counts.items() if found["sentences"])
    metadata = {
        "pretty_name": "MewsC-16",
        "language": languages,
        "license": source.hub_licence,
        "task_categories": ["text-classification", "sentence-similarity"],
        "tags": ["clustering", "news", "wikinews"],
        "configs": [{"config_name": code, "data_files": f"{code}.parquet"} for code in languages],
    }
    front = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)
    written = {code: counts[code] for code in languages}
    text = (
        files(__package__)
        .joinpath("card.md")
        .read_text(encoding="utf-8")
        .format(
            source=source.name,
            attribution=source.attribution,
            min_class_size=min_class_size,
            statistics=_statistics(written),
            dumps=_dumps(written),
        )
    )
    (folder / "README.md").write_text(f"---\n{front}---\n\n{text}", encoding="utf-8")


def _statistics(counts: Mapping[str, Mapping[str, Any]]) -> str:
    topics = sorted({topic for found in counts.values() for topic in found["classes"]})
    codes = list(counts)
    rows = [[topic, *(f"{counts[code]['classes'].get(topic, 0):,}" for code in codes)] for topic in topics]
    sums = [
        ["sentences", *(f"{counts[code]['sentences']:,}" for code in codes)],
        ["topics", *(str(len(counts[code]["classes"])) for code in codes)],
    ]
    return _table(["", *codes], [*rows, *sums])


def _dumps(counts: Mapping[str, Mapping[str, Any]]) -> str:
    used = [(code, dump) for code, found in counts.items() for dump in found["dumps"] if dump["used"]]
    rows = [
        [code, dump["file"], dump["date"] or "unknown", "yes" if dump["truncated"] else "no"]
        for code, dump in used
    ]
    return _table(["language", "dump", "date", "cut at its end"], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
