"""Command that lists and removes what no kept version uses: `python -m ease.pruning [--delete]`, or `make prune`."""

from __future__ import annotations

import os
import re
import shutil
import stat
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
from ease.io.locks import LOCK_FILE, SCRATCH, is_abandoned_scratch, is_locked, lock_data_for_removal
from ease.io.versions import provenance_of

KEPT = "(kept; --unfinished removes it)"
UNUSED = f"no version uses it; it may belong to an unfinished run {KEPT}"
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
    current_versions, old_versions = _sort_versions({data, tables}, keep)
    for folder in sorted(old_versions):
        if (folder / folder.parent.name).exists():
            yield folder, "an older version"
        else:
            yield folder, "an incomplete version"
    # Versions hold hard links to the parts, so a part is used by the versions with files of its identity.
    current_files = _identities(current_versions)
    old_files = _identities(old_versions)
    for part in (tables / "02_intermediate" / "parts").glob("*/[!.]*"):
        part_files = _identities([part])
        if part_files & current_files:
            continue
        if part_files & old_files:
            yield part, "used by older versions only"
        else:
            yield part, UNUSED
    yield from _unused_caches(data / "07_model_output", old_versions)
    for scratch in sorted({folder for top in (data, tables) for folder in top.rglob(f"*{SCRATCH}*")}):
        if is_abandoned_scratch(scratch):
            yield scratch, "left by a run that was killed"
    yield from _finished_work(data / "06_models" / "work")


def _finished_work(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the work folders from which no step can resume."""
    for work in folder.glob("*"):
        if SCRATCH in work.name:
            continue
        can_resume = not work.name.endswith(".removed") and any(any(work.rglob(name)) for name in RESUMED)
        if not can_resume and not any(is_locked(lock.parent) for lock in work.rglob(LOCK_FILE)):
            yield work, "left by a step that has ended"


def _unused_caches(outputs: Path, old: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the embeddings, scores and search indexes of encoders that are not kept."""
    for cache in (outputs / "embeddings").glob("*"):
        # `<version>-<fingerprint>.sqlite` and `<fingerprint>.scores` belong to `<fingerprint>.encoders`.
        fingerprint = cache.stem.rpartition("-")[2]
        if reason := _unused(cache.with_name(f"{fingerprint}{USERS}"), old):
            yield cache, reason
    for index in (outputs / "search").glob("*/*/*"):
        reason = _unused(next(index.glob(f"*{USERS}"), index / USERS), old)
        if reason and index.is_dir() and not is_locked(index):
            yield index, reason


def _sort_versions(tops: Iterable[Path], keep: int) -> tuple[set[Path], set[Path]]:
    """Return the newest versions of each dataset with all that they were made from, and all other versions.

    A version that an encoder's `latest` links to counts as a newest one.
    """
    versions, links = _find_versions_and_links(tops)
    complete_by_dataset: dict[Path, list[Path]] = defaultdict(list)
    for version in sorted(versions):
        if (version / version.parent.name).exists():
            complete_by_dataset[version.parent].append(version)
    provenance = {version: provenance_of(version) for complete in complete_by_dataset.values() for version in complete}
    # Inputs are recorded as the dataset's name and the version's time.
    by_record = {(record.get("dataset"), version.name): version for version, record in provenance.items()}
    promoted = set(_promoted_versions(links))

    to_visit = [version for complete in complete_by_dataset.values() for version in complete[-keep:]]
    to_visit += [version for version in provenance if (version.parents[1].resolve(), version.name) in promoted]
    current: set[Path] = set()
    while to_visit:
        version = to_visit.pop()
        current.add(version)
        for record in provenance[version].get("inputs", {}).items():
            source = by_record.get(record)
            if source is not None and source not in current:
                to_visit.append(source)
    return current, versions - current


def _find_versions_and_links(tops: Iterable[Path]) -> tuple[set[Path], set[Path]]:
    """Return the folders of versions, and the symbolic links, anywhere in some folders."""
    versions: set[Path] = set()
    links: set[Path] = set()
    for top in tops:
        for folder, folder_names, file_names in os.walk(top):
            for name in (*folder_names, *file_names):
                path = Path(folder, name)
                if path.is_symlink():
                    links.add(path)
                elif _VERSION.fullmatch(name) and path.is_dir():
                    versions.add(path)
    return versions, links


def _promoted_versions(links: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the folder of a method's datasets, and the time of the version, that each `latest` links to.

    The version may be an older one that was promoted; the method's history has one of the same time.
    """
    for link in links:
        # <folder of the method>/<dataset>/<time>/<file>
        target = link.resolve()
        if link.exists() and len(target.parents) > 2:
            yield target.parents[2], target.parent.name


def _identities(folders: Iterable[Path]) -> set[tuple[int, int]]:
    """Return the sizes and times of the Parquet files in folders; links and copies of a file share them."""
    files = (file.stat() for folder in folders for file in folder.rglob("*.parquet") if file.is_file())
    return {(status.st_size, status.st_mtime_ns) for status in files}


def _unused(users: Path, removed: set[Path]) -> str | None:
    """Return why embeddings may be removed; None if one of their encoders is kept."""
    if not users.is_file():
        return UNUSED
    encoders = users_of(users)
    if encoders is None:  # of the hub
        return None
    removed = {folder.resolve() for folder in removed}
    if any(encoder.exists() and removed.isdisjoint(encoder.parents) for encoder in encoders):
        return None
    if not encoders:
        return UNUSED
    return "embeddings of an encoder that is no longer kept"


def find_artifacts(project: Path) -> dict[Path, str]:
    """Return the folders of plots and models whose MLflow run is gone, with the reasons; a fault is printed."""
    if not (project / "pyproject.toml").is_file():
        return {}
    # Kedro and MLflow take seconds to import.
    from ease.hooks.mlflow_store import find_gone_artifacts, read_project_store

    try:
        return find_gone_artifacts(read_project_store(project), project)
    except EaseError as error:
        click.secho(f"MLflow's plots and models are kept: {error}", fg="yellow", err=True)
        return {}


@click.command()
@click.option("--delete", is_flag=True, help="Remove the listed items.")
@click.option("--keep", type=click.IntRange(min=1), default=1, help="Newest versions to keep of each.")
@click.option("--unfinished", is_flag=True, help="Also remove parts, embeddings and artifacts of unknown runs.")
def main(delete: bool, keep: int, unfinished: bool) -> None:
    """List old versions, parsed parts and leftovers with their sizes; remove them with --delete."""
    project = Path.cwd()
    try:
        values = read_globals(project)
        data = project / str(values.get("data", "data"))
        tables = located(str(values.get("tables", data)))
        # Only local folders are searched.
        tables = data if is_remote(tables) else project / tables
        with lock_data_for_removal(data):
            leftovers = [*find_leftovers(data, tables, keep), *find_artifacts(project).items()]
            removable = [path for path, reason in leftovers if unfinished or not reason.endswith(KEPT)]
            for path, reason in leftovers:
                click.echo(f"{_size([path]):>10}  {os.path.relpath(path, project)}: {reason}")
            # Before the removal; together, because files may be hard links to the same data.
            total = _size(removable)
            if delete:
                _remove(removable)
    except EaseError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)
    command = make_or("prune ARGS=--delete", "python -m ease.pruning --delete", project)
    if delete:
        click.echo(f"{len(removable)} items of {total} removed.")
    else:
        click.echo(f"{len(removable)} items of {total} may be removed: {command}")


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            # It may have been part of another listed folder.
            path.unlink(missing_ok=True)


def _size(paths: Iterable[Path]) -> str:
    """Return the size of all files; one with several links counts once."""
    files = (file.lstat() for path in paths for file in (path, *path.rglob("*")))
    sizes = {status.st_ino: status.st_size for status in files if stat.S_ISREG(status.st_mode)}
    return ByteSize(sum(sizes.values())).human_readable(decimal=True)


if __name__ == "__main__":
    main()
