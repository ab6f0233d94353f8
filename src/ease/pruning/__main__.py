"""Command that lists and removes leftovers of the data folder: `python -m ease.pruning [--delete]`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from ease.errors import EaseError
from ease.io.addresses import is_remote, located
from ease.io.locks import lock_data_for_removal
from ease.io.project import make_or, read_globals
from ease.pruning.leftovers import UNCERTAIN, find_leftovers


@click.command()
@click.option("--delete", is_flag=True, help="Remove the listed items.")
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Newest versions to keep of each.",
)
@click.option(
    "--unfinished", is_flag=True, help="Remove unused parts and embeddings of unknown encoders, too."
)
def main(delete: bool, keep: int, unfinished: bool) -> None:
    """List old versions, parsed parts and leftovers with their sizes; remove them with --delete."""
    try:
        prune(Path.cwd(), delete, keep, unfinished)
    except EaseError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)


def prune(project: Path, delete: bool, keep: int, unfinished: bool) -> None:
    """List or remove the leftovers of a project.

    Raises:
        EaseError: If the folder is not a project, or a run is active in it.
    """
    data, tables = data_folders(project)
    with lock_data_for_removal(data):
        leftovers = find_leftovers(data, tables, keep)
        chosen = [one for one in leftovers if unfinished or one.reason not in UNCERTAIN]
        for one in leftovers:
            hint = "" if one in chosen else " (kept; --unfinished removes it)"
            click.echo(f"{_readable(one.size):>10}  {os.path.relpath(one.path, project)}: {one.reason}{hint}")
        for one in chosen if delete else ():
            if one.path.is_dir():
                shutil.rmtree(one.path)
            else:
                one.path.unlink()
    total = _readable(sum(one.size for one in chosen))
    click.echo(
        f"Removed {len(chosen)} items of {total}."
        if delete
        else f"{len(chosen)} items of {total} may be removed: "
        + make_or("prune ARGS=--delete", "python -m ease.pruning --delete", project)
    )


def data_folders(project: Path) -> tuple[Path, Path]:
    """Return the data folder and the folder of tables, as configured in the environments `base` and `local`.

    Raises:
        EaseError: If there is no configuration.
    """
    values = read_globals(project)
    data = project / str(values.get("data", "data"))
    tables = located(str(values.get("tables", data)))
    if is_remote(tables):
        click.echo(f"Tables at {tables} are not touched: remove old ones with the store's own tools.")
        tables = data
    return data, project / tables


def _readable(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


if __name__ == "__main__":
    main()
