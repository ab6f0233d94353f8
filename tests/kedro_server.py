"""Run `kedro` commands one after the other, each in a fork of this process, which has imported all libraries.

Forking saves the start-up time of a command. Changes to the process state (environment, search path, hooks, MLflow's
store) end with the fork. Requests are JSON lines on standard input; exit statuses are lines on standard output.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import threading
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NoReturn

from kedro.framework.cli.cli import main as kedro_command

LIBRARIES = (
    *("alembic.command", "ibis.backends.sql.compilers", "kedro.framework.cli.project", "kedro.runner"),
    *("kedro_datasets.ibis", "mlflow.store.tracking.sqlalchemy_store", "plotly.express", "plotly.offline"),
    *("ease.training.job", "ease.encoders.whitening", "ease.evaluation.classifiers"),
    *("scipy.stats", "sklearn.manifold"),
)
"""Modules that commands import late. DuckDB is excluded: it starts threads at import, and a fork would deadlock."""

PLUGINS = ("kedro.hooks", "kedro.cli_hooks", "kedro.project_commands", "kedro.global_commands")


def import_all() -> None:
    """Import the modules that commands need."""
    for name in ("ease.settings", "ease.datasets.tables", *LIBRARIES):
        import_module(name)
    for group in PLUGINS:
        for plugin in entry_points(group=group):
            plugin.load()
    assert "duckdb" not in sys.modules
    # Exclude these objects from garbage collection, which would copy their memory pages in every fork.
    gc.freeze()


def serve() -> None:
    """Serve requests; return only in the fork that must run a command."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201
    sys.exit()


def become(request: dict[str, Any]) -> None:
    """Set the working directory, environment, standard streams and arguments of a command."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["kedro", *request["arguments"]]


def run() -> NoReturn:
    """Run the command, then exit without clearing the modules, which would copy the memory shared with the parent."""
    try:
        kedro_command()
    except SystemExit as stop:
        status = stop.code
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # ends the workers of pools, for which `atexit` would wait
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    import_all()
    serve()
    run()
