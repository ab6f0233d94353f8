"""Synthetic dump files in the forms that Wikimedia publishes."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ease.wikimedia.dumps.files import DumpFile, Shard, split_into_shards
from ease.wikimedia.dumps.pages import Page, PageTally, iterate_pages
from ease.wikimedia.dumps.parts import IngestOptions

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/"
    version="{version}" xml:lang="{language}">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>{language}wiki</dbname>
    <case>{case}</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">Berkas</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"
ONE = IngestOptions(workers=1)


def make_page(
    page_id: int,
    title: str,
    text: str,
    namespace: int = 0,
    redirect: str | None = None,
    model: str = "wikitext",
    timestamp: str = "2024-01-01T00:00:00Z",
) -> str:
    """Return one page in the form of MediaWiki's exporter."""
    target = "" if redirect is None else f'    <redirect title="{escape(redirect)}" />\n'
    return (
        f"  <page>\n    <title>{escape(title, quote=False)}</title>\n    <ns>{namespace}</ns>\n"
        f"    <id>{page_id}</id>\n{target}    <revision>\n      <id>{page_id + 1000}</id>\n"
        f"      <timestamp>{timestamp}</timestamp>\n      <model>{model}</model>\n"
        f'      <text bytes="{len(text.encode())}" xml:space="preserve">{escape(text, quote=False)}</text>\n'
        "    </revision>\n  </page>\n"
    )


def make_template(page_id: int, title: str, text: str, prefix: str = "Template", redirect: str | None = None) -> str:
    """Return a template's page, or a redirect to another template."""
    target = None
    if redirect is not None:
        target = f"{prefix}:{redirect}"
        text = f"#REDIRECT [[{target}]]"
    return make_page(page_id, f"{prefix}:{title}", text, 10, target)


def make_export(pages: Sequence[str], language: str = "en", version: str = "0.11", case: str = "first-letter") -> str:
    return HEAD.format(language=language, version=version, case=case) + "".join(pages) + TAIL


def article(page_id: int) -> str:
    """Return an article of a few sentences with two links."""
    filler = f"Sentence about number {page_id * 7919 % 1000} and its {page_id}th neighbour. " * (page_id % 7)
    return make_page(page_id, f"Article {page_id}", f"See [[Berlin]] and [[paris|the city]]. {filler}\n\nAn end.")


def as_streams(chunks: Sequence[bytes]) -> bytes:
    """Return a bz2 file with one stream per chunk."""
    return b"".join(bz2.compress(chunk) for chunk in chunks)


def as_zstd(content: bytes) -> bytes:
    """Return a zstd file with one frame."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(content)
    return packed.getvalue().to_pybytes()


PACK: dict[str, Any] = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),
    ".bz2": bz2.compress,
    ".zst": as_zstd,
    ".xz": lzma.compress,
}
"""Functions that compress a file, by its suffix."""


def cut(content: bytes, size: int) -> list[bytes]:
    """Split into chunks of equal size, as pbzip2 does."""
    return [content[start : start + size] for start in range(0, len(content), size)]


def as_dump(path: Path, content: bytes, language: str = "en") -> DumpFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return DumpFile(path, language, None)


def as_shard(dump: DumpFile) -> Shard:
    return Shard(dump, 0, dump.path.stat().st_size)


def read_all(dump: DumpFile, bytes_per_shard: int = 1 << 40) -> tuple[list[Page], list[PageTally]]:
    """Return the pages of all shards in order, and each shard's tally."""
    pages: list[Page] = []
    tallies: list[PageTally] = []
    for shard in split_into_shards(dump, bytes_per_shard):
        tallies.append(PageTally())
        pages.extend(iterate_pages(shard, tally=tallies[-1]))
    return pages, tallies


def rows(paths: list[Path]) -> list[dict[str, Any]]:
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def made(folder: Path, *pages: str, language: str = "en", name: str = "made") -> DumpFile:
    path = folder / f"{language}wiki-{name}-pages-articles.xml"
    return as_dump(path, make_export(pages, language).encode(), language)
