"""Keep the pages of a shard on disk between its two readings, since decompressing them again takes longer."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from ease.io.addresses import is_remote
from ease.io.files import free_space, report_write_errors
from ease.wikimedia.dumps.files import DumpFile
from ease.wikimedia.dumps.pages import PageContent, PageTally, requested_content
from ease.wikimedia.dumps.parts import read_counts
from ease.wikimedia.dumps.streams import Compression

logger = logging.getLogger(__name__)

KEPT_PAGES_FILE = "pages.arrow"
_PAGES = pa.schema([("content", pa.large_binary()), ("fault", pa.string())])
_BYTES_PER_BATCH = 4 << 20
# The others are decompressed about as fast as kept pages are written and read.
_SLOW: tuple[Compression, ...] = ("bz2", "xz")
# Kept pages have 1.4 times the size of a bz2 file, and the parts that are made of them must fit as well.
_FREE_SHARE = 3


def choose_kept(dumps: Iterable[DumpFile], folder: Path) -> set[DumpFile]:
    """Return the dumps whose pages are worth keeping in a folder: slowly decompressed ones, if the disk has room."""
    slow = {dump for dump in dumps if dump.compression in _SLOW}
    if is_remote(folder) or not slow:
        return set()
    size = sum(dump.path.stat().st_size for dump in slow)
    free = free_space(folder)
    if free < _FREE_SHARE * size:
        logger.info(
            "The dumps are decompressed twice: the disk of %s has %.1f GB free, and their pages fit from %.1f GB on",
            *(folder, free / 1e9, _FREE_SHARE * size / 1e9),
        )
        return set()
    return slow


def keep_pages(pages: Iterable[PageContent], part: Path, namespaces: Collection[int]) -> Iterator[PageContent]:
    """Yield a shard's pages, and write them to a part as `scan_pages` yields them for some namespaces.

    Raises EaseError if the disk is full.
    """
    file = part / KEPT_PAGES_FILE
    batch: list[PageContent] = []
    size = 0
    with report_write_errors(file), file.open("wb") as sink:
        options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
        writer = pa.ipc.new_file(sink, _PAGES, options=options)
        for content, fault in pages:
            batch.append((requested_content(content, len(content), namespaces), fault))
            size += len(batch[-1][0])
            if size >= _BYTES_PER_BATCH:
                writer.write_batch(_as_batch(batch))
                batch.clear()
                size = 0
            yield content, fault
        writer.write_batch(_as_batch(batch))
        writer.close()


def read_kept_pages(part: Path, tally: PageTally) -> Iterator[PageContent] | None:
    """Return the pages that a part keeps, and set `tally.truncated`; None if the dump must be read again.

    Another run in the same folder may have removed them.
    """
    if is_remote(part):
        return None
    try:
        file = pa.OSFile(str(part / KEPT_PAGES_FILE))
    except FileNotFoundError:
        return None
    tally.truncated = read_counts(part)["truncated"]
    return _read_pages(file)


def _as_batch(pages: Sequence[PageContent]) -> pa.RecordBatch:
    columns = [pa.array([page[index] for page in pages], field.type) for index, field in enumerate(_PAGES)]
    return pa.RecordBatch.from_arrays(columns, schema=_PAGES)


def _read_pages(file: pa.NativeFile) -> Iterator[PageContent]:
    with file, pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=False)) as reader:
        for index in range(reader.num_record_batches):
            yield from zip(*(column.to_pylist() for column in reader.get_batch(index).columns), strict=True)
