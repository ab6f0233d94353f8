"""Command that lists and removes what no kept version uses: `python -m ease.pruning [--delete]`, or `make prune`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from pydantic import ByteSize

from ease.encoders.saved import USERS, users_of
from ease.errors import EaseError
from ease.io.addresses import is_remote, located
from ease.io.files import make_or, read_globals
from ease.io.locks import LOCK_FILE, is_locked, lock_data_for_removal
from ease.io.versions import provenance_of

UNUSED = "no version uses it; it may belong to an unfinished run (kept; --unfinished removes it)"
RESUMED = ("checkpoints", "model", "teacher", "*-checkpoint.safetensors", "targets-*.npy", "*-*/counts.json")
"""What an interrupted step resumes from in its work folder"""

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}\.\d{2}\.\d{2}\.\d{3}Z")


def find_leftovers(data: Path, tables: Path, keep: int = 1) -> Iterator[tuple[Path, str]]:
    """Yield each path that no kept version uses, with the reason.

    Args:
        data: The data folder.
        tables: The folder of tables and parts; often the same.
        keep: Newest versions to keep of each dataset, in addition to the versions that these were made from.
    """
    kept, old = _versions({data, tables}, keep)
    for folder in sorted(old):
        complete = (folder / folder.parent.name).exists()
        yield folder, "an older version" if complete else "an incomplete version"
    used, unused = _identities(kept), _identities(old)
    for part in (tables / "02_intermediate" / "parts").glob("*/[!.]*"):
        own = _identities([part])
        if not own & used:
            yield part, "used by older versions only" if own & unused else UNUSED
    yield from _unused_caches(data / "07_model_output", old)
    for work in (data / "06_models" / "work").glob("*"):
        resumed = not work.name.endswith(".removed") and any(any(work.rglob(name)) for name in RESUMED)
        if not resumed and not any(is_locked(lock.parent) for lock in work.rglob(LOCK_FILE)):
            yield work, "left by a step that has ended"


def _unused_caches(outputs: Path, old: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the embeddings, scores and search indexes of encoders that are not kept."""
    for cache in (outputs / "embeddings").glob("*"):
        if reason := _unused(cache.with_name(f"{cache.stem.rpartition('-')[2]}{USERS}"), old):
            yield cache, reason
    for index in (outputs / "search").glob("*/*/*"):
        reason = _unused(next(index.glob(f"*{USERS}"), index / USERS), old)
        if reason and index.is_dir() and not is_locked(index):
            yield index, reason


def _versions(places: Iterable[Path], keep: int) -> tuple[set[Path], set[Path]]:
    """Return the newest versions of each dataset with all that they were made from, and all other versions."""
    walked = (Path(place, name) for top in places for place, folders, _ in os.walk(top) for name in folders)
    versions = {folder for folder in walked if _VERSION.fullmatch(folder.name)}
    datasets: dict[Path, list[Path]] = defaultdict(list)
    for version in sorted(versions):
        if (version / version.parent.name).exists():
            datasets[version.parent].append(version)
    made_from = {version: provenance_of(version) for own in datasets.values() for version in own}
    by_name = {(about.get("dataset"), version.name): version for version, about in made_from.items()}
    waiting = [version for own in datasets.values() for version in own[-keep:]]
    kept: set[Path] = set()
    while waiting:
        kept.add(version := waiting.pop())
        inputs = (by_name.get(pair) for pair in made_from[version].get("inputs", {}).items())
        waiting += [one for one in inputs if one is not None and one not in kept]
    return kept, versions - kept


def _identities(folders: Iterable[Path]) -> set[tuple[int, int]]:
    """Return the sizes and times of the Parquet files in folders; links and copies of a file share them."""
    files = (file.stat() for folder in folders for file in folder.rglob("*.parquet") if file.is_file())
    return {(status.st_size, status.st_mtime_ns) for status in files}


def _unused(users: Path, removed: set[Path]) -> str | None:
    """Return why embeddings may be removed; None if one of their encoders is kept."""
    encoders = users_of(users) if users.is_file() else []
    gone = {folder.resolve() for folder in removed}
    if encoders is None or any(one.exists() and gone.isdisjoint(one.parents) for one in encoders):
        return None
    return "embeddings of an encoder that is no longer kept" if encoders else UNUSED


@click.command()
@click.option("--delete", is_flag=True, help="Remove the listed items.")
@click.option("--keep", type=click.IntRange(min=1), default=1, help="Newest versions to keep of each.")
@click.option("--unfinished", is_flag=True, help="Remove parts and embeddings that no version names, too.")
def main(delete: bool, keep: int, unfinished: bool) -> None:
    """List old versions, parsed parts and leftovers with their sizes; remove them with --delete."""
    project = Path.cwd()
    try:
        values = read_globals(project)
        data = project / str(values.get("data", "data"))
        tables = located(str(values.get("tables", data)))
        with lock_data_for_removal(data):
            found = list(find_leftovers(data, data if is_remote(tables) else project / tables, keep))
            chosen = [path for path, reason in found if unfinished or reason != UNUSED]
            for path, reason in found:
                click.echo(f"{_size([path]):>10}  {os.path.relpath(path, project)}: {reason}")
            total = _size(chosen)
            for path in chosen if delete else ():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    except EaseError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)
    command = make_or("prune ARGS=--delete", "python -m ease.pruning --delete", project)
    may = "removed." if delete else f"may be removed: {command}"
    click.echo(f"{len(chosen)} items of {total} {may}")


def _size(paths: Iterable[Path]) -> str:
    """Return the size of all files; one with several links counts once."""
    files = (file.lstat() for path in paths for file in (path, *path.rglob("*")))
    sizes = {status.st_ino: status.st_size for status in files if status.st_mode & 0o100000}
    return ByteSize(sum(sizes.values())).human_readable(decimal=True)


if __name__ == "__main__":
    main()
