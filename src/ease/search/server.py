"""Serve the search page on an address of this machine."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import click

from ease.errors import EaseError
from ease.search.opened import OpenModels
from ease.search.sources import Sources


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
    try:
        import uvicorn

        from ease.search.page import make_app
    except ImportError as error:
        raise EaseError(
            f"The search page needs {error.name}: install the extra `demo`, as `make demo` does."
        ) from error
    models = OpenModels(Sources.of_project(project, setting), further)
    with _listening(host, port) as listening:
        click.echo(f"Search page: http://{host}:{listening.getsockname()[1]} (Ctrl-C ends it)")
        config = uvicorn.Config(make_app(models), log_level="warning", lifespan="off")
        with closing(models), suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address: requests wait from now on until they are served.

    Raises:
        EaseError: If the address is in use or not of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        hint = (
            "it is in use: stop the other program, or choose another --port"
            if error.errno == errno.EADDRINUSE
            else f"{error.strerror}: choose another --host or --port"
        )
        raise EaseError(f"Cannot listen at {host}:{port}; {hint}.") from error
    return listening
