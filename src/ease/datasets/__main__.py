"""Command that checks all rows of all tables of a project: `python -m ease.datasets`, or `make validate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ease.errors import EaseError
from ease.io.files import read_globals


@click.command()
@click.option("--env", help="Kedro environment.")
def main(env: str | None) -> None:
    """Check each table that exists: columns, types, ranges, keys, and rows of other tables. Exit with 1 on a fault."""
    project = Path.cwd()
    results = []
    try:
        read_globals(project)
        # Kedro's session imports the project, which takes a second: a wrong folder is reported before.
        from kedro.framework.session import KedroSession
        from kedro.framework.startup import bootstrap_project

        from ease.datasets.schemas import check_tables

        bootstrap_project(project)
        with KedroSession.create(project_path=project, env=env) as session:
            catalog = session.load_context().catalog  # type: ignore[attr-defined]
            for name, count, faults in check_tables(catalog):
                click.echo(f"{name}: {count:,} rows, {'; '.join(faults) or 'as expected'}")
                results.append(bool(faults))
        if not results:
            raise EaseError(
                f"{project} has no tables to check: make them by `kedro run --pipelines=train_multilingual`."
            )
    # The command runs outside Kedro's, whose hooks would print the error.
    except EaseError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)
    sys.exit(int(any(results)))


if __name__ == "__main__":
    main()
