"""Runs `kedro` commands one after the other, each in a fork of this process, which has imported everything.

A command so forked is spared the seconds of a start, and what it leaves in its process (environment, search path,
hooks, MLflow's store) ends with it. Requests come as JSON lines, exit statuses go back.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from kedro.framework.cli.cli import main as kedro_command

LIBRARIES = (
    *("alembic.command", "ibis.backends.sql.compilers", "kedro.framework.cli.project", "kedro.runner"),
    *("kedro_datasets.ibis", "mlflow.store.tracking.sqlalchemy_store", "plotly.express", "plotly.offline"),
    *(
        "ease.training.job",
        "ease.encoders.whitening",
        "ease.evaluation.logistic_regression",
        "scipy.stats",
        "sklearn.manifold",
    ),
)
"""What commands import late. Not DuckDB: it starts threads when imported, and waits in vain for them in a fork."""

PLUGINS = ("kedro.hooks", "kedro.cli_hooks", "kedro.project_commands", "kedro.global_commands")


def import_all() -> None:
    """Import what commands import."""
    for name in ("ease.settings", "ease.datasets.tables", *LIBRARIES):
        import_module(name)
    for group in PLUGINS:
        for plugin in entry_points(group=group):
            plugin.load()
    assert "duckdb" not in sys.modules
    # Left to the collector, all these objects would be visited, and with that copied, in every fork.
    gc.freeze()


def serve() -> None:
    """Answer requests; returns in each fork, which is then to run the command."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201
    sys.exit()


def become(request: dict[str, Any]) -> None:
    """Take on the folder, the environment, the streams and the arguments of a command."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["kedro", *request["arguments"]]


if __name__ == "__main__":
    import_all()
    serve()
    kedro_command()
