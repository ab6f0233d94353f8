"""The servers of MLflow and Kedro-Viz."""

from __future__ import annotations

import socket

import pytest

from ease.servers import main


def test_a_port_in_use_is_named_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["viz", f"--port={port}"]) == 1
    assert f"Port {port} is in use: choose another (`make viz ARGS=--port={port + 1}`)." in capsys.readouterr().err
