"""The search page: a form, and results of models side by side, without scripts or other hosts."""

from __future__ import annotations

import errno
import logging
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import click
import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ease.errors import EaseError
from ease.io.names import UNTRAINED, check_name
from ease.methods import get_method, method_names
from ease.search.engine import Found, Opening, Search, Sources, words_of
from ease.search.entities import Link
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

LARGEST_K = 50
FAR_SENTENCE, FAR_ENTITY = 0.65, 0.58
"""Cosines of the nearest sentence and entity below which the page says that a text is probably unknown.

EASE+ trained on the sample wiki gives ten texts on its facts 0.73 or more and 0.62 or more, and twelve others (such as
`Berlin`, `pizza`) 0.60 and 0.53 at most.
"""
STUDENTS = ("shallow_student", "static_student")
CODE = re.compile(r"[a-z][a-z0-9-]{1,19}")
"""Form of the codes of Wikipedia's languages"""
PATIENCE = 8.0
"""Seconds that a request waits for the first part of an index."""
POLICY = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
POLICY += "frame-ancestors 'none'"
"""The browser requests nothing but the page and its style, and shows it in no other page."""


@dataclass(frozen=True)
class Asked:
    """What a request asks for."""

    text: str
    models: list[str]
    languages: list[str]
    reader: str
    k: int


@dataclass(frozen=True)
class Panel:
    """What one model answers."""

    name: str
    title: str
    search: Search | None
    """None while the model is being loaded"""
    embedded: tuple[int, int] | None
    """Sentences that the answer was chosen from, and their number; None: all"""
    error: str
    found: Sequence[Found] = ()
    entities: Sequence[Link] = ()


class _Guard:
    """Refuses requests of other sites' pages: from their origin, or by a name that they have pointed to this host."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        """Accept addresses, `localhost`, this machine's name, and `host`."""
        self._app, self._names = app, {"localhost", socket.gethostname().lower(), host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, answer = Headers(scope=scope), self._app
        own = False
        with suppress(ValueError):
            name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
            own = name in self._names or bool(ip_address(name))
        if not own:
            answer = PlainTextResponse("Unknown host: open the address that the command printed.", 400)
        elif headers.get("sec-fetch-site") == "cross-site":
            answer = PlainTextResponse("Requests of other sites are refused: open the address itself.", 403)
        await answer(scope, receive, send)


def make_app(models: OpenModels, host: str = "localhost") -> Starlette:
    """Return the application; a model is loaded when a request first chooses it.

    `host` is a name of this machine, beside its addresses, by which browsers may ask.
    """
    loader = PackageLoader("ease.search")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["pieces"] = marked_pieces
    environment.globals.update(title_of=model_title, language_name=lambda code: Language(code).english_name)
    environment.globals.update(far_sentence=FAR_SENTENCE, far_entity=FAR_ENTITY)
    template = environment.get_template("search.html.j2")
    style = files("ease.search").joinpath("templates/style.css").read_text(encoding="utf-8")

    def show(request: Request) -> Response:
        error, panels, asked = "", [], Asked("", [models.first], [], _reader_of(request), 10)
        try:
            asked = _asked(request, models)
            opened = [models.choose(name) for name in asked.models]  # all are loaded at once
            panels = [_answer(model, asked) for model in opened]
        except EaseError as problem:
            error = str(problem)
        search = next((panel.search for panel in panels if panel.search), None)
        panels = panels if asked.text else []
        html = template.render(
            asked=asked,
            panels=panels,
            search=search,
            error=error,
            models=models.names,
            languages=[*search.index.languages] if search else [],
            waiting=any(not panel.search and not panel.error for panel in panels),
            query=request.url.query,
        )
        return HTMLResponse(html, 400 if error else 200, {"Content-Security-Policy": POLICY})

    def stylesheet(request: Request) -> Response:
        return Response(style, media_type="text/css")

    routes = [Route("/", show), Route("/style.css", stylesheet)]
    return Starlette(routes=routes, middleware=[Middleware(_Guard, host)])


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


def _answer(model: OpenModel, asked: Asked) -> Panel:
    model.wait()
    # Read before the answer, since the thread that builds the index continues meanwhile.
    embedded, search = None if model.complete else model.progress, model.search
    panel = Panel(model.name, model_title(model.name), search, embedded, model.error)
    if search is None or not asked.text:
        return panel
    try:
        found = search.search(asked.text, asked.k, asked.languages, asked.reader)
        return replace(panel, found=found, entities=search.nearest_entities(asked.text, 8, asked.reader))
    except EaseError as error:
        return replace(panel, error=str(error))


def model_title(name: str) -> str:
    """Return how the page calls a model."""
    if name in method_names():
        return get_method(name).title
    return name.replace("_", " ").capitalize() if name in (UNTRAINED, *STUDENTS) else name


def marked_pieces(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is one of the words, whatever its case."""
    wanted = {word.casefold() for word in words}
    pieces, start = [], 0
    for word in words_of(text):
        place = text.index(word, start)
        pieces += [(text[start:place], False), (word, word.casefold() in wanted)]
        start = place + len(word)
    return [piece for piece in [*pieces, (text[start:], False)] if piece[0]]


class _Closed(Exception):
    """Raised in a thread to end it after the current block of an index."""


class OpenModel:
    """A model that a thread of its own loads and builds the index of."""

    def __init__(self, sources: Sources, name: str) -> None:
        """Start the thread."""
        self.name = name
        self.search: Search | None = None
        self.error = ""
        self.progress = (0, 0)
        """Embedded sentences and their number; the latter is 0 until it is known"""
        self._searchable, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._open, args=(sources,), daemon=True, name=f"open {name}")
        self._thread.start()

    def wait(self, seconds: float = PATIENCE) -> None:
        """Wait until the model can be searched with, or has failed, but not longer than some seconds."""
        self._searchable.wait(seconds)

    def close(self) -> None:
        """Let the thread end; what it has not embedded is left to the next start."""
        self._closing.set()
        self._thread.join()

    @property
    def complete(self) -> bool:
        """Whether the index has all sentences, and the model its entities."""
        return not self._thread.is_alive()

    def _open(self, sources: Sources) -> None:
        try:
            opening = Opening(sources, self.name)

            def report(done: int, total: int) -> None:
                if self._closing.is_set():
                    raise _Closed
                self.progress = (done, total)
                if self.search is None:
                    self.search = opening.search()
                    self._searchable.set()

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
            self._searchable.set()


class OpenModels:
    """The models that can be chosen, and those that were."""

    def __init__(self, sources: Sources, further: Sequence[str] = ()) -> None:
        """Find the models; none is loaded. `further` are folders or hub names of further encoders."""
        sources.sentences()
        self.names = [*sources.models(), *further]
        for name in self.names or ["ease_plus"]:
            sources.model(name)  # raises an error if there is none
        self.first = "ease_plus" if "ease_plus" in self.names else self.names[-1]
        self._sources = sources
        self._open: dict[str, OpenModel] = {}
        self._lock = threading.Lock()

    def choose(self, name: str) -> OpenModel:
        """Return a model, which is loaded in the background if it is not yet; failed ones are tried again."""
        check_name(name, self.names, "model")
        with self._lock:
            if name not in self._open or self._open[name].error:
                self._open[name] = OpenModel(self._sources, name)
            return self._open[name]

    def close(self) -> None:
        """End the work of all models; torch aborts the interpreter's exit while another thread computes."""
        for model in self._open.values():
            model.close()


def serve(project: Path, setting: str, further: Sequence[str], host: str, port: int) -> None:
    """Serve the page of a project's setting until an interrupt; `further` are folders or hub names of encoders."""
    models = OpenModels(Sources.of_project(project, setting), further)
    models.choose(models.first)  # the page's first choice loads while the browser is opened
    server = make_server(models, host)
    with listening(host, port) as there:
        click.echo(f"Search page: http://{host}:{there.getsockname()[1]} (Ctrl-C ends it)")
        with closing(models), suppress(KeyboardInterrupt):
            server.run(sockets=[there])


def make_server(models: OpenModels, host: str) -> uvicorn.Server:
    """Return a server of the page that answers to a name of this machine, and to its addresses."""
    # A configuration of logging would close the handlers of other libraries.
    config = uvicorn.Config(make_app(models, host), log_config=None, log_level="warning", lifespan="off")
    return uvicorn.Server(config)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address: requests wait from now on until they are served."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        what = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise EaseError(
            f"Cannot listen at {host}:{port}; {what}: choose another --host or --port."
        ) from error
