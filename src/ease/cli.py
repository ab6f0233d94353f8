"""Commands of a project beside Kedro's own, which Kedro finds by the name of this module: `kedro parameters`.

A project with a package of its own imports `cli` into a module `cli.py` of that package.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from kedro.framework.startup import ProjectMetadata

from ease.errors import EaseError


@click.group(name="ease")
def cli() -> None:
    """Commands of EASE."""


@cli.command()
@click.argument("name", default="")
@click.option("--encoder", help="Show the defaults for this encoder, a hub name or folder, not for the setting's.")
@click.option("--env", help="Environment of the configuration, such as `paper`. Default: `local`.")
@click.option("--markdown", is_flag=True, help="Print docs/parameters.md: all parameters with their meanings.")
@click.pass_obj
def parameters(metadata: ProjectMetadata, name: str, encoder: str | None, env: str | None, markdown: bool) -> None:
    """Show the value of a parameter, where it comes from, and its meaning.

    NAME is a parameter or a group such as multilingual.ease; without it, the groups are listed. The parameters of
    `kedro run --params` are not considered.
    """
    # Imported here, since Kedro imports this module at every command.
    from ease.pipelines.parameters import (
        Configuration,
        document_parameters,
        format_parameters,
        list_parameters,
        parameter_groups,
    )

    try:
        if markdown:
            click.echo(document_parameters(), nl=False)
            return
        configuration = Configuration(Path(metadata.project_path), env)
        if not name:
            click.echo("\n".join(parameter_groups(configuration)))
            return
        click.echo(format_parameters(list_parameters(configuration, name, encoder)))
    except EaseError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)
