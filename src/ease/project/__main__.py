"""Command that makes a project in a folder: `ease-project FOLDER`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

import ease
from ease.errors import EaseError
from ease.project import create_project


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.version_option(ease.__version__, prog_name="ease-project")
def main(folder: Path) -> None:
    """Make a project in FOLDER, which must be new or empty; `kedro run` in it trains on a generated sample."""
    if find_spec("kedro") is None:
        click.secho(
            "Error: a project needs the extra `project` of ease-embeddings (docs/install.md).", fg="red", err=True
        )
        sys.exit(1)
    try:
        create_project(folder)
    except EaseError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)
    click.echo(f"Made a project in {folder}. Next, in that folder: kedro run")


if __name__ == "__main__":
    main()
