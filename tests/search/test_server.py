"""Requests of the search page that are refused, on a server without trained models."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from ease.errors import EaseError
from ease.search.engine import SearchProject
from ease.search.entities import EntityVectors
from ease.search.index import Index, NearestRows
from ease.search.page import OpenModels, listening, make_server
from tests.search.made_project import Row, add_model, write_project


@pytest.fixture(scope="module")
def port(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server of a project with one untrained encoder."""
    rows = [Row("en", 1, "Page", 0, "A sentence.", [17])]
    project = write_project(tmp_path_factory.mktemp("requests") / "project", rows)
    add_model(project, "untrained", encoder)
    models = OpenModels(SearchProject(project, "multilingual"))
    serving = make_server(models, "search.example")
    with listening("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        serving.should_exit = True
        thread.join()
    models.close()


def ask(port: int, path: str = "/", **fields: str) -> tuple[int, str, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8000", 200), ("Search.Example:8000", 200), ("evil.example", 400), ("evil_host:x", 400)],
)
def test_only_names_of_this_machine_are_answered(port: int, host: str, status: int) -> None:
    assert ask(port, host=host)[0] == status


def test_requests_and_frames_of_other_sites_are_refused(port: int) -> None:
    assert ask(port, sec_fetch_site="cross-site")[0] == 403
    status, _, headers = ask(port, sec_fetch_site="same-origin")
    assert status == 200
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        (f"k={'9' * 5_000}", 400, "results: ask for a number from 1 to 50."),
        ("model=/etc", 400, "Unknown model &#39;/etc&#39;"),
        ("language=en%00", 400, "is not a language&#39;s code"),
        ("q=?!", 200, "The text has no letter or digit: type a sentence."),
    ],
)
def test_bad_requests_are_answered_with_one_line(port: int, query: str, status: int, message: str) -> None:
    whole = query if query.startswith("q=") else f"q=sentence&{query}"
    code, html, _ = ask(port, f"/?{quote(whole, safe='=&%')}", accept_language="*")
    assert code == status
    assert html.count('role="alert"') == 1
    assert message in html


def test_the_page_shows_where_its_entities_come_from(port: int) -> None:
    deadline = time.monotonic() + 60
    while "once all sentences are embedded" in (html := ask(port, "/?q=sentence")[1]) or "loaded" in html:
        assert time.monotonic() < deadline, html
        time.sleep(0.1)
    assert "Each entity is the mean of the sentences that link to it." in html
    foreign = '<span dir="auto">Japan</span> <span class="note">(no name in English)</span>'
    assert f'<span class="label">{foreign}</span>' in html, "Wikidata has only a German title"
    assert "in 1 language, 1 entity; model Untrained" in html
    assert "finds no entity near" not in html


def test_a_text_far_from_all_sentences_and_entities_is_noted(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "nearest", lambda *_: NearestRows(np.array([0]), np.array([0.6], np.float32)))
    monkeypatch.setattr(EntityVectors, "nearest", lambda *_: [({"entity": 17}, 0.5)])
    html = ask(port, "/?q=Berlin")[1]
    assert "finds no entity near" in html
    assert "finds no sentence near" in html


def test_typed_markup_is_shown_as_text(port: int) -> None:
    typed = quote('"><script>run</script>')
    html = ask(port, f"/?q={typed}")[1]
    assert "<script" not in html
    assert "&lt;script&gt;run" in html


@pytest.fixture
def sources(encoder: Path, tmp_path: Path) -> SearchProject:
    """A project with 6,000 sentences and an untrained encoder."""
    rows = [Row("en", n // 10, "Page", n % 10, f"Sentence number {n}.", [17]) for n in range(6_000)]
    project = write_project(tmp_path / "project", rows)
    add_model(project, "untrained", encoder)
    return SearchProject(project, "multilingual")


@pytest.mark.slow
def test_a_model_is_searched_before_its_index_is_complete_and_closed_without_loss(sources: SearchProject) -> None:
    models = OpenModels(sources)
    model = models.choose("untrained")
    assert models.choose("untrained") is model, "loaded once"
    model.searchable.wait(60)
    assert model.search is not None, model.error
    assert len(model.search.search("Sentence number 7.", k=5)) == 5
    assert model.search.entities is None, "a part of the sentences has no means"
    models.close()
    embedded = model.search.index.embedded()
    time.sleep(0.5)
    assert model.search.index.embedded() == embedded > 0, "the thread has ended"
    again = OpenModels(sources).choose("untrained")
    again.join(60)
    assert not again.is_alive()
    assert again.search is not None
    assert [link.entity for link in again.search.nearest_entities("Sentence number 7.")] == [17]
    assert len(again.search.search("Sentence number 7.", k=6_000)) == 6_000


def test_a_model_that_does_not_load_says_so_and_is_tried_again(sources: SearchProject) -> None:
    models = OpenModels(sources)
    config = next(sources.data.rglob("encoder/config.json"))
    content = config.read_text(encoding="utf-8")
    config.write_text("{", encoding="utf-8")
    broken = models.choose("untrained")
    broken.searchable.wait(60)
    assert broken.search is None
    assert "untrained" in broken.error
    assert "\n" not in broken.error
    config.write_text(content, encoding="utf-8")
    repaired = models.choose("untrained")
    repaired.searchable.wait(60)
    assert repaired.search is not None, repaired.error
    models.close()
    with pytest.raises(EaseError, match="Unknown model 'ease': Choose from untrained"):
        models.choose("ease")
