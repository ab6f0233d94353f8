"""Command that checks all rows of all tables of a project: `python -m ease.datasets`, or `make validate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.option("--env", help="Kedro environment.")
@click.option("--rows", default=100_000, show_default=True, help="Rows that are in memory at a time.")
def main(env: str | None, rows: int) -> None:
    """Check each table that exists: columns, types, ranges, keys, and rows of other tables. Exit with 1 on a fault."""
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    from ease.datasets.complete_check import check_tables

    project = Path.cwd()
    bootstrap_project(project)
    wrong = 0
    with KedroSession.create(project_path=project, env=env) as session:
        catalog = session.load_context().catalog  # type: ignore[attr-defined]
        for name, count, faults in check_tables(catalog, rows):
            click.echo(f"{name}: {count:,} rows, {'; '.join(faults) or 'as expected'}")
            wrong += bool(faults)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
