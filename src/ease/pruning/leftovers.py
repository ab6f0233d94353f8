"""Files and folders that may be removed from a data folder, each with the reason."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ease.io import result_versions
from ease.io.cache_users import USERS, users_of
from ease.io.locks import LOCK_FILE, is_locked
from ease.pruning.versions import Version, find_versions, needed_versions

UNLINKED = "no version uses this part; it may belong to an unfinished ingest"
UNKNOWN = "nothing says which encoder these embeddings belong to"
UNCERTAIN = (UNLINKED, UNKNOWN)
"""Reasons for which a file or folder is removed only on request."""

RESUMED = (
    "checkpoints",
    "model",
    "teacher",
    "*-checkpoint.safetensors",
    "targets-*.npy",
    "??*-??*/counts.json",
)
"""Names of what an interrupted training, distillation or search for parallel sentences resumes from."""

_NUMBERED = re.compile(r"(?:sample-|sample-news-)?(\d+)-[0-9a-f]+(?:-[0-9a-f]+)?(?:\.sqlite)?")
_PARTS = {
    "wikidata": result_versions.WIKIDATA_PARTS,
    "no_wikidata": result_versions.WIKIDATA_PARTS,
    "truthy": result_versions.TRUTHY_PARTS,
    "page_props": result_versions.PAGE_PROPS_PARTS,
}
"""Version of the code by the name of the folder of parts; all other folders are languages."""

Identity = tuple[int, int]
"""Size and time of a file, which links and copies share."""


class Leftover(NamedTuple):
    """A file or folder that may be removed."""

    path: Path
    reason: str
    size: int
    """Bytes that the removal frees; files with other links free none."""


def find_leftovers(data: Path, tables: Path, keep: int) -> list[Leftover]:
    """Return what no kept version uses.

    Args:
        data: The data folder.
        tables: The folder of tables and parts; often the same.
        keep: Newest versions to keep of each dataset, in addition to the versions that these were made from.
    """
    versions = [version for place in dict.fromkeys((data, tables)) for version in find_versions(place)]
    needed = needed_versions(versions, keep)
    old = [version for version in versions if version not in needed]
    found = [
        *((v.folder, "an older version" if v.complete else "an incomplete version") for v in old),
        *_old_parts(
            tables / "02_intermediate" / "parts", *(_tables(v.folder for v in some) for some in (needed, old))
        ),
        *_old_samples(data / "01_raw" / "sample", needed),
        *_old_embeddings(data / "07_model_output" / "embeddings", {v.folder.resolve() for v in old}),
        *_old_indexes(data / "07_model_output" / "search", {v.folder.resolve() for v in old}),
        *_old_work(data / "06_models" / "work"),
    ]
    kept = {_inode(file) for version in needed for file in _files(version.folder)}
    counted: set[tuple[int, int]] = set()
    return [Leftover(path, reason, _freed(path, kept, counted)) for path, reason in found]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for place, _, names in os.walk(path):
        yield from (Path(place, name) for name in names if not Path(place, name).is_symlink())


def _tables(folders: Iterable[Path]) -> set[Identity]:
    found = (file.stat() for folder in folders for file in _files(folder) if file.suffix == ".parquet")
    return {(about.st_size, about.st_mtime_ns) for about in found}


def _inode(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_dev, about.st_ino


def _freed(path: Path, kept: set[tuple[int, int]], counted: set[tuple[int, int]]) -> int:
    """Return the bytes of files that no kept version and no leftover counted before shares."""
    total = 0
    for file in _files(path):
        inode = _inode(file)
        if inode not in kept and inode not in counted:
            counted.add(inode)
            total += file.stat().st_size
    return total


def _old_parts(folder: Path, needed: set[Identity], old: set[Identity]) -> Iterator[tuple[Path, str]]:
    for part in sorted(folder.glob("*/*")):
        files = _tables([part])
        if not part.is_dir() or part.name.startswith(".") or files & needed:
            continue
        if _number(part.name) != _PARTS.get(part.parent.name, result_versions.WIKIPEDIA_PARTS):
            yield part, "parsed by another version of the code"
        elif files & old:
            yield part, "used by older versions only"
        else:
            yield part, UNLINKED


def _number(name: str) -> int | None:
    """Return the version of the code in a name; None for names older than these versions."""
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else None


def _old_samples(folder: Path, needed: set[Version]) -> Iterator[tuple[Path, str]]:
    listings = (file for version in needed for file in _files(version.folder) if file.suffix == ".json")
    used = "\n".join(file.read_text(encoding="utf-8") for file in listings if "01_raw" in file.parts)
    for sample in sorted(folder.glob("sample-*")):
        if f"/{sample.name}/" not in used:
            yield sample, "a sample that no kept version uses"


def _old_embeddings(folder: Path, removed: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the caches of embeddings and of scores whose encoders are in `removed` versions, missing or unknown."""
    current: dict[str, list[Path]] = defaultdict(list)
    for cache in sorted(path for path in folder.glob("*") if path.suffix in (".sqlite", ".scores", USERS)):
        if cache.suffix == ".sqlite" and _number(cache.name) != result_versions.EMBEDDINGS:
            yield cache, "embeddings by another version of the code"
        else:
            current[cache.stem.rpartition("-")[2]].append(cache)
    for fingerprint, caches in current.items():
        if reason := _unused_embeddings(folder / f"{fingerprint}{USERS}", removed):
            yield from ((cache, reason) for cache in caches)


def _old_indexes(folder: Path, removed: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the search indexes whose encoders are in `removed` versions, missing or unknown; locked ones stay."""
    for index in sorted(path for path in folder.glob("*/*/*") if path.is_dir() and not is_locked(path)):
        users = next(index.glob(f"*{USERS}"), index / USERS)  # an index has one encoder
        if reason := _unused_embeddings(users, removed):
            yield index, reason


def _unused_embeddings(file: Path, removed: set[Path]) -> str | None:
    """Why the embeddings of a fingerprint may be removed; None if one of its encoders is kept."""
    if not file.is_file():
        return UNKNOWN
    users = users_of(file)
    if users is None or any(user.exists() and removed.isdisjoint(user.parents) for user in users):
        return None
    return "embeddings of an encoder that is no longer kept"


def _old_work(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the work folders of finished or abandoned steps; what an interrupted one resumes from stays, and locks."""
    for entry in sorted(folder.glob("*")):
        resumable = not entry.name.endswith(".removed") and any(
            path for name in RESUMED for path in entry.rglob(name)
        )
        if not resumable and not any(is_locked(lock.parent) for lock in entry.rglob(LOCK_FILE)):
            yield entry, "left by a step that has ended"
