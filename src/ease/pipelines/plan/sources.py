"""Sizes of the dumps that a job would read, and which of them are on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ease.io.addresses import is_remote
from ease.io.downloads import Client
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire.sample_wiki import make_sample
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.mirrors import is_mirror, list_dumps


class DumpSize(NamedTuple):
    """The dump of a language."""

    language: str
    size: int
    """Compressed bytes"""
    missing: int
    """Bytes that the job would download, with the page_props table"""
    files: list[DumpFile]
    """Files on this machine"""


def measure_dumps(acquire: AcquireOptions, languages: Sequence[str]) -> list[DumpSize]:
    """Return the size of each language's dump; a mirror is asked for its sizes, and the sample wiki is made.

    Raises:
        EaseError: If the source lacks a language, or the mirror cannot be reached.
    """
    if is_mirror(acquire.wikipedia):
        return _on_mirror(acquire, languages)
    source = make_sample(acquire).wikipedia if acquire.wikipedia == SAMPLE else acquire.wikipedia
    dumps = find_dumps(source, languages)
    sizes = []
    for language in languages:
        own = [dump for dump in dumps if dump.language == language]
        size = sum(dump.path.stat().st_size for dump in own)
        sizes.append(DumpSize(language, size, 0, [dump for dump in own if not is_remote(dump.path)]))
    return sizes


def _on_mirror(acquire: AcquireOptions, languages: Sequence[str]) -> list[DumpSize]:
    options = acquire.mirror()
    with Client(options.download) as client:
        listed = list_dumps(acquire.wikipedia, languages, options, client)
    sizes = []
    for language, dumps in listed.pages.items():
        files = [*dumps, *(table for of, table in listed.tables.items() if of == language)]
        there = [DumpFile(file.path, language, listed.date) for file in dumps if file.path.is_file()]
        missing = sum(file.size or 0 for file in files if not file.path.is_file())
        sizes.append(DumpSize(language, sum(file.size or 0 for file in dumps), missing, there))
    return sizes


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
