"""The search page: a form, and results of models side by side, without scripts or other hosts."""

from __future__ import annotations

import errno
import logging
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click
import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ease.errors import EaseError
from ease.methods import UNTRAINED, method_names, method_record
from ease.names import check_name
from ease.search.engine import Opening, Search, Sources, words_of
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

LARGEST_K = 50
FAR_SENTENCE, FAR_ENTITY = 0.65, 0.58
"""Cosines of the nearest sentence and entity below which the page says that a text is probably unknown.

EASE+ trained on the sample wiki gives ten texts on its facts 0.73 or more and 0.62 or more, and twelve others (such as
`Berlin`, `pizza`) 0.60 and 0.53 at most.
"""
CODE = re.compile(r"[a-z][a-z0-9-]{1,19}")
"""Form of the codes of Wikipedia's languages"""
PATIENCE = 8.0
"""Seconds that a request waits for the first part of an index."""
POLICY = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
POLICY += "frame-ancestors 'none'"
"""The browser requests nothing but the page and its style, and shows it in no other page."""


class Asked(NamedTuple):
    """What a request asks for."""

    text: str
    models: list[str]
    languages: list[str]
    reader: str
    k: int


def make_server(models: OpenModels, host: str) -> uvicorn.Server:
    """Return a server of the page; a model is loaded when a request first chooses it.

    Browsers may ask by the addresses of this machine, its name, `localhost` and `host`.
    """
    environment = Environment(
        loader=PackageLoader("ease.search"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pieces"] = marked_pieces
    environment.globals.update(title_of=model_title, language_name=lambda code: Language(code).english_name)
    environment.globals.update(far_sentence=FAR_SENTENCE, far_entity=FAR_ENTITY)
    template = environment.get_template("search.html.j2")
    style = files("ease.search").joinpath("templates/style.css").read_text(encoding="utf-8")
    names = {"localhost", socket.gethostname().lower(), host.lower()}

    def show(request: Request) -> Response:
        if refusal := _refusal(request, names):
            return refusal
        error, panels, asked = "", [], Asked("", [models.first], [], _reader_of(request), 10)
        try:
            asked = _asked(request, models)
            opened = [models.choose(name) for name in asked.models]  # all are loaded at once
            panels = [_answer(model, asked) for model in opened]
        except EaseError as problem:
            error = str(problem)
        search = next((panel["search"] for panel in panels if panel["search"]), None)
        panels = panels if asked.text else []
        html = template.render(
            asked=asked,
            panels=panels,
            search=search,
            error=error,
            models=models.names,
            languages=[*search.index.languages] if search else [],
            waiting=any(not panel["search"] and not panel["error"] for panel in panels),
            query=request.url.query,
        )
        return HTMLResponse(html, 400 if error else 200, {"Content-Security-Policy": POLICY})

    def stylesheet(request: Request) -> Response:
        return Response(style, media_type="text/css")

    app = Starlette(routes=[Route("/", show), Route("/style.css", stylesheet)])
    # A configuration of logging would close the handlers of other libraries.
    return uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="warning", lifespan="off"))


def _refusal(request: Request, names: set[str]) -> Response | None:
    """Refuse requests of other sites' pages: from their origin, or by a name that they have pointed to this host."""
    own = False
    with suppress(ValueError):
        # Starlette's own URL would have this machine's address in place of a host that it cannot parse.
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        own = name in names or bool(ip_address(name))
    if not own:
        return PlainTextResponse("Unknown host: open the address that the command printed.", 400)
    if request.headers.get("sec-fetch-site") == "cross-site":
        return PlainTextResponse("Requests of other sites are refused: open the address itself.", 403)
    return None


def _asked(request: Request, models: OpenModels) -> Asked:
    """Read the form."""
    given = request.query_params
    k = given.get("k", "10")
    if not re.fullmatch("[0-9]{1,4}", k) or not 1 <= int(k) <= LARGEST_K:
        raise EaseError(f"{k[:20]!r} results: ask for a number from 1 to {LARGEST_K}.")
    chosen = list(dict.fromkeys(given.getlist("model"))) or [models.first]
    reader, languages = given.get("reader") or _reader_of(request), [*filter(None, given.getlist("language"))]
    for code in (reader, *languages):
        if not CODE.fullmatch(code):
            raise EaseError(f"{code[:20]!r} is not a language's code: write one such as en.")
    return Asked(given.get("q", "").strip(), chosen, languages, reader, int(k))


def _reader_of(request: Request) -> str:
    """Return the first language that the browser asks for."""
    first = request.headers.get("accept-language", "en")
    code = re.split("[,;-]", first, maxsplit=1)[0].strip().lower()
    return code if CODE.fullmatch(code) else "en"


def _answer(model: OpenModel, asked: Asked) -> dict[str, Any]:
    """Return what the page's panel of a model shows."""
    model.searchable.wait(PATIENCE)
    # Read before the answer, since the thread that builds the index continues meanwhile.
    embedded, search = model.progress if model.is_alive() else None, model.search
    panel = dict[str, Any](name=model.name, title=model_title(model.name), search=search, error=model.error)
    panel |= {"embedded": embedded, "found": (), "entities": ()}
    if search is not None and asked.text:
        try:
            panel["found"] = search.search(asked.text, asked.k, asked.languages, asked.reader)
            panel["entities"] = search.nearest_entities(asked.text, 8, asked.reader)
        except EaseError as error:
            panel["error"] = str(error)
    return panel


def model_title(name: str) -> str:
    """Return how the page calls a model."""
    if name in method_names():
        return method_record(name).title
    return name.replace("_", " ").capitalize() if name == UNTRAINED else name


def marked_pieces(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is one of the words, whatever its case."""
    wanted, pieces = {word.casefold() for word in words}, []
    for word in words_of(text):
        before, _, text = text.partition(word)
        pieces += [(before, False), (word, word.casefold() in wanted)]
    return [piece for piece in [*pieces, (text, False)] if piece[0]]


class _Closed(Exception):
    """Raised in a thread to end it after the current block of an index."""


class OpenModel(threading.Thread):
    """A model that a thread of its own loads and builds the index of; the thread ends when both are complete."""

    def __init__(self, sources: Sources, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self._sources, self._closing = sources, threading.Event()
        self.search: Search | None = None
        """None while the model is being loaded"""
        self.error = ""
        self.progress = (0, 0)
        """Embedded sentences and their number; the latter is 0 until it is known"""
        self.searchable = threading.Event()
        """Set once the model can be searched with, or has failed"""

    def close(self) -> None:
        """Let the thread end; what it has not embedded is left to the next start."""
        self._closing.set()
        self.join()

    def run(self) -> None:
        """Load the model, and build its index."""
        try:
            opening = Opening(self._sources, self.name)

            def report(done: int, total: int) -> None:
                if self._closing.is_set():
                    raise _Closed
                self.progress = (done, total)
                if self.search is None:
                    self.search = opening.search()
                    self.searchable.set()

            opening.build(report)
            self.search = opening.search()  # Only a complete index has the means of sentences.
        except _Closed:
            pass
        except EaseError as error:
            self.error = str(error)
        except Exception as error:
            logger.exception("The model %s cannot be opened", self.name)
            self.error = f"The model {self.name!r} cannot be opened: {type(error).__name__}: {error}"
        finally:
            self.searchable.set()


class OpenModels:
    """The models that can be chosen, and those that were; `further` are folders or hub names of further encoders."""

    def __init__(self, sources: Sources, further: Sequence[str] = ()) -> None:
        self.names = [*sources.models(), *further]
        for name in self.names or ["ease_plus"]:
            sources.model(name)  # raises an error if there is none
        self.first = "ease_plus" if "ease_plus" in self.names else self.names[-1]
        self._sources, self._lock = sources, threading.Lock()
        self._open: dict[str, OpenModel] = {}

    def choose(self, name: str) -> OpenModel:
        """Return a model, which is loaded in the background if it is not yet; failed ones are tried again."""
        check_name(name, self.names, "model")
        with self._lock:
            if name not in self._open or self._open[name].error:
                self._open[name] = OpenModel(self._sources, name)
                self._open[name].start()
            return self._open[name]

    def close(self) -> None:
        """End the work of all models; torch aborts the interpreter's exit while another thread computes."""
        for model in self._open.values():
            model.close()


def serve(project: Path, setting: str, further: Sequence[str], host: str, port: int) -> None:
    """Serve the page of a project's setting until an interrupt; `further` are folders or hub names of encoders."""
    models = OpenModels(Sources(project, setting), further)
    models.choose(models.first)  # the page's first choice loads while the browser is opened
    server = make_server(models, host)
    with listening(host, port) as there:
        click.echo(f"Search page: http://{host}:{there.getsockname()[1]} (Ctrl-C ends it)")
        with closing(models), suppress(KeyboardInterrupt):
            server.run(sockets=[there])


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address: requests wait from now on until they are served."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        what = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise EaseError(f"Cannot listen at {host}:{port}; {what}: choose another --host or --port.") from error
