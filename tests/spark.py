"""Spark for the tests: a local session in this process, or a standalone cluster for commands."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""JVM options that reduce the start-up time of short-lived processes."""

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # For tables of a few rows, compiling a query takes longer than running it.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
}


@pytest.fixture(scope="session", name="spark")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A single-threaded session that retries failed tasks, as a cluster does.

    A process has only one session, which all tests share, so it is stopped after the last test.
    """
    sql = pytest.importorskip("pyspark.sql", reason="the extra `spark` is not installed")
    if not (shutil.which("java") or "JAVA_HOME" in os.environ):
        pytest.skip("Spark needs a Java runtime: scripts/system_packages.sh java")
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    session = sql.SparkSession.builder.master("local[1,4]").config(map=OPTIONS | warehouse).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def submit_arguments(master: str) -> str:
    """Return the value of `PYSPARK_SUBMIT_ARGS` that makes a command use a cluster."""
    options = (part for name, value in OPTIONS.items() for part in ("--conf", f"{name}={value}"))
    return shlex.join(["--master", master, *options, "pyspark-shell"])


@contextmanager
def standing_cluster(folder: Path) -> Iterator[str]:
    """Yield the address of a standalone Spark cluster: a master and two workers with one core each.

    Each executor has a folder `app-*/<number>` below `folder`.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(_daemon(folder, "master.Master", "--port", str(port)))
        for _ in range(2):
            given = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder), address)
            stack.enter_context(_daemon(folder, "worker.Worker", *given))
        yield address


@contextmanager
def _daemon(folder: Path, name: str, *arguments: str) -> Iterator[None]:
    """Run one process of a cluster until the block ends."""
    pyspark = pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    program = Path(pyspark.__file__).with_name("bin") / "spark-class"
    options = ("--host", "127.0.0.1", "--webui-port", "0", *arguments)
    command = [program, f"org.apache.spark.deploy.{name}", *options]
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": JAVA}
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
