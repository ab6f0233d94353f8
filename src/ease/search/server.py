"""Serve the search page on an address of this machine."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ease.errors import EaseError
from ease.search.opened import OpenModels
from ease.search.sources import Sources

if TYPE_CHECKING:
    import uvicorn

IDLE_SECONDS = 10
"""Time after which a connection without a request is closed"""


def serve(project: Path, setting: str, further: Sequence[str], host: str, port: int) -> None:
    """Serve the page until an interrupt.

    Args:
        project: Folder of the project.
        setting: Its setting whose sentences are searched.
        further: Folders or hub names of further encoders.
        host: Address to listen at.
        port: 0: any free one.

    Raises:
        EaseError: If there is no trained model, the address is in use, or the extra `demo` is missing.
    """
    models = OpenModels(Sources.of_project(project, setting), further)
    server = make_server(models, host)
    with listening(host, port) as there:
        click.echo(f"Search page: http://{host}:{there.getsockname()[1]} (Ctrl-C ends it)")
        with closing(models), suppress(KeyboardInterrupt):
            server.run(sockets=[there])


def make_server(models: OpenModels, host: str) -> uvicorn.Server:
    """Return a server of the page that answers to a name of this machine, and to its addresses.

    Raises:
        EaseError: If the extra `demo` is missing.
    """
    try:
        import uvicorn

        from ease.search.page import ImpatientProtocol, make_app
    except ImportError as error:
        raise EaseError(
            f"The search page needs {error.name}: install the extra `demo`, as `make demo` does."
        ) from error
    app, patience = make_app(models, host), IDLE_SECONDS
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        timeout_keep_alive=patience,
        log_config=None,  # it would close the handlers of other libraries
        log_level="warning",
        lifespan="off",
    )
    return uvicorn.Server(config)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address: requests wait from now on until they are served.

    Raises:
        EaseError: If the address is in use or not of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        there = socket.socket(family, socket.SOCK_STREAM)
        there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        there.bind((host, port))
        there.listen()
    except OSError as error:
        hint = (
            "it is in use: stop the other program, or choose another --port"
            if error.errno == errno.EADDRINUSE
            else f"{error.strerror}: choose another --host or --port"
        )
        raise EaseError(f"Cannot listen at {host}:{port}; {hint}.") from error
    return there
