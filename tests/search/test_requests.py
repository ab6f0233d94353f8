"""Requests of the search page that are refused, and idle connections, on a server without trained models."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest

from ease.search import server
from ease.search.opened import OpenModels
from ease.search.sources import Sources
from tests.search.made_project import Row, add_model, write_encoder, write_project

Port = int


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    """The port of a server of a project with one untrained encoder."""
    folder = tmp_path_factory.mktemp("requests")
    project = write_project(folder / "project", [Row("en", 1, "Page", 0, "A sentence.", [17])])
    add_model(project, "untrained", write_encoder(folder / "encoder"))
    models = OpenModels(Sources.of_project(project, "multilingual"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "IDLE_SECONDS", 1)
        serving = server.make_server(models, "search.example")
    with server.listening("127.0.0.1", 0) as there:
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [there]})
        thread.start()
        yield there.getsockname()[1]
        serving.should_exit = True
        thread.join()
    models.close()


def ask(port: Port, path: str = "/", **headers: str) -> tuple[int, str, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(
        "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("[::1]:8000", 200),
        ("Search.Example:8000", 200),
        ("evil.example", 400),
        ("127.0.0.1.evil.example:8000", 400),
        ("[", 400),
    ],
)
def test_only_names_of_this_machine_are_answered(port: Port, host: str, status: int) -> None:
    assert ask(port, host=host)[0] == status


def test_requests_and_frames_of_other_sites_are_refused(port: Port) -> None:
    assert ask(port, sec_fetch_site="cross-site")[0] == 403
    status, _, headers = ask(port, sec_fetch_site="same-origin")
    assert status == 200
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "query",
    [
        f"k={'9' * 5_000}",
        "k=%00",
        "k=²",
        f"language={'e' * 5_000}",
        "language=en%00",
        "reader=%00",
        "reader=../en",
    ],
)
def test_values_out_of_bounds_are_refused(port: Port, query: str) -> None:
    assert ask(port, f"/?q=sentence&{quote(query, safe='=&%')}")[0] == 400


def test_other_text_is_searched(port: Port) -> None:
    assert ask(port, f"/?q=a%00b{'9' * 5_000}", accept_language="*")[0] == 200


def test_the_page_shows_where_its_entities_come_from(port: Port) -> None:
    deadline = time.monotonic() + 60
    while "once all sentences are embedded" in (html := ask(port, "/?q=sentence")[1]) or "loaded" in html:
        assert time.monotonic() < deadline, html
        time.sleep(0.1)
    assert "Each entity is the mean of the sentences that link to it." in html
    assert '<span class="label" dir="auto" lang="en">Japan</span>' in html


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_an_idle_connection_is_closed(port: Port, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        began = time.monotonic()
        assert connection.recv(1) == b""
        assert time.monotonic() - began > 0.5
