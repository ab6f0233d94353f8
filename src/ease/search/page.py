"""The search page: a form, and the models' results side by side, without scripts or other hosts."""

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
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ease.errors import EaseError
from ease.methods import UNTRAINED, method_names, method_record
from ease.names import check_name
from ease.search.engine import Search, SearchOpening, SearchProject, words_of
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

MAX_RESULTS = 50

# Cosines of the nearest sentence and entity below which the page says that a text is probably unknown. EASE+ trained on
# the sample wiki gives ten texts on its facts 0.73 or more and 0.62 or more, and twelve other texts (such as `Berlin`,
# `pizza`) 0.60 and 0.53 at most.
FAR_SENTENCE = 0.65
FAR_ENTITY = 0.58

LANGUAGE_CODE = re.compile(r"[a-z][a-z0-9-]{1,19}")
"""Form of the codes of Wikipedia's languages"""
INDEX_WAIT = 8.0
"""Seconds that a request waits for the first part of an index"""
CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The browser requests nothing but the page and its style, and shows it in no other page."""


class SearchForm(NamedTuple):
    """Values of the form in a request."""

    text: str
    models: list[str]
    languages: list[str]
    reader: str
    k: int


def make_server(models: OpenModels, host: str) -> uvicorn.Server:
    """Return a server of the page; a model is loaded when a request first chooses it.

    Browsers may use the addresses of this machine, its name, `localhost` and `host`.
    """
    template = _page_template()
    style = files("ease.search").joinpath("templates/style.css").read_text(encoding="utf-8")
    names = {"localhost", socket.gethostname().lower(), host.lower()}

    def show(request: Request) -> Response:
        refusal = _refusal(request, names)
        if refusal:
            return refusal
        form = SearchForm("", [models.first], [], _browser_language(request), 10)
        panels = []
        error = ""
        status = 200
        try:
            form = _read_form(request, models)
            # All models start to load before the first one is waited for.
            chosen_models = [models.choose(name) for name in form.models]
            panels = [_panel(model, form) for model in chosen_models]
        except EaseError as fault:
            error = str(fault)
            status = 400
        html = template.render(**_page_context(form, panels), error=error, models=models.names, query=request.url.query)
        return HTMLResponse(html, status, {"Content-Security-Policy": CONTENT_POLICY})

    def stylesheet(request: Request) -> Response:
        return Response(style, media_type="text/css")

    app = Starlette(routes=[Route("/", show), Route("/style.css", stylesheet)])
    # A configuration of logging would close the handlers of other libraries.
    return uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="warning", lifespan="off"))


def _page_template() -> Template:
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
    return environment.get_template("search.html.j2")


def _page_context(form: SearchForm, panels: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the template's variables that depend on the models' panels."""
    # All models search the same sentences: any of their indexes has the languages and examples.
    search = next((panel["search"] for panel in panels if panel["search"]), None)
    languages: list[str] = []
    if search:
        languages = [*search.index.languages]
    # Without a text, the models are only being loaded.
    if not form.text:
        panels = []
    waiting = any(not panel["search"] and not panel["error"] for panel in panels)
    return {"form": form, "panels": panels, "search": search, "languages": languages, "waiting": waiting}


def _refusal(request: Request, names: set[str]) -> Response | None:
    """Refuse requests of other sites' pages: from their origin, or by a name that they have pointed to this host."""
    is_own_name = False
    with suppress(ValueError):
        # Starlette's own URL would have this machine's address in place of a host that it cannot parse.
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        is_own_name = name in names or bool(ip_address(name))
    if not is_own_name:
        return PlainTextResponse("Unknown host: open the address that the command printed.", 400)
    if request.headers.get("sec-fetch-site") == "cross-site":
        return PlainTextResponse("Requests of other sites are refused: open the address itself.", 403)
    return None


def _read_form(request: Request, models: OpenModels) -> SearchForm:
    """Return the form's values; raises EaseError if one is not possible."""
    query = request.query_params
    k = query.get("k", "10")
    # At most four digits: Python refuses to convert thousands.
    if not re.fullmatch("[0-9]{1,4}", k) or not 1 <= int(k) <= MAX_RESULTS:
        raise EaseError(f"{k[:20]!r} results: ask for a number from 1 to {MAX_RESULTS}.")
    names = list(dict.fromkeys(query.getlist("model"))) or [models.first]
    reader = query.get("reader") or _browser_language(request)
    languages = [*filter(None, query.getlist("language"))]
    for code in (reader, *languages):
        if not LANGUAGE_CODE.fullmatch(code):
            raise EaseError(f"{code[:20]!r} is not a language's code: write one such as en.")
    return SearchForm(query.get("q", "").strip(), names, languages, reader, int(k))


def _browser_language(request: Request) -> str:
    """Return the browser's preferred language."""
    first = request.headers.get("accept-language", "en")
    code = re.split("[,;-]", first, maxsplit=1)[0].strip().lower()
    # A browser may also send `*`, for any language.
    if not LANGUAGE_CODE.fullmatch(code):
        return "en"
    return code


def _panel(model: OpenModel, form: SearchForm) -> dict[str, Any]:
    """Return the variables of a model's panel on the page."""
    model.searchable.wait(INDEX_WAIT)
    # Read before the search, since the thread that builds the index continues meanwhile.
    embedded = None
    if model.is_alive():
        embedded = model.progress
    search = model.search
    panel = dict[str, Any](name=model.name, title=model_title(model.name), search=search, error=model.error)
    panel |= {"embedded": embedded, "results": (), "entities": ()}
    if search is not None and form.text:
        try:
            panel["results"] = search.search(form.text, form.k, form.languages, form.reader)
            panel["entities"] = search.nearest_entities(form.text, 8, form.reader)
        except EaseError as error:
            panel["error"] = str(error)
    return panel


def model_title(name: str) -> str:
    """Return a model's name on the page."""
    if name in method_names():
        return method_record(name).title
    if name == UNTRAINED:
        return name.replace("_", " ").capitalize()
    return name


def marked_pieces(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is one of the words, in any case."""
    marked = {word.casefold() for word in words}
    pieces = []
    for word in words_of(text):
        before, _, text = text.partition(word)
        pieces += [(before, False), (word, word.casefold() in marked)]
    pieces.append((text, False))
    return [(piece, mark) for piece, mark in pieces if piece]


class _Closed(Exception):
    """Raised in a thread to end it after the current block of an index."""


class OpenModel(threading.Thread):
    """Thread that loads a model and builds its index; the thread ends when both are complete."""

    def __init__(self, project: SearchProject, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self._project = project
        self._closing = threading.Event()
        self.search: Search | None = None
        """None while the model is being loaded"""
        self.error = ""
        self.progress = (0, 0)
        """Numbers of embedded sentences and of all sentences; the latter is 0 until it is known"""
        self.searchable = threading.Event()
        """Set once the model can be searched with, or has failed"""

    def close(self) -> None:
        """Let the thread end; sentences that are not embedded yet are left to the next start."""
        self._closing.set()
        self.join()

    def run(self) -> None:
        """Load the model, and build its index."""
        try:
            opening = SearchOpening(self._project, self.name)

            def report(embedded: int, total: int) -> None:
                if self._closing.is_set():
                    raise _Closed
                self.progress = (embedded, total)
                if self.search is None:
                    self.search = opening.search()
                    self.searchable.set()

            opening.build(report)
            # Opened again: only a complete index has the means of sentences.
            self.search = opening.search()
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
    """The models to choose from, and the loaded models; `further` are folders or hub names of further encoders."""

    def __init__(self, project: SearchProject, further: Sequence[str] = ()) -> None:
        self.names = [*project.models(), *further]
        # Raises an error if there is none of a name, or no model at all.
        for name in self.names or ["ease_plus"]:
            project.model(name)
        self.first = self.names[-1]
        if "ease_plus" in self.names:
            self.first = "ease_plus"
        self._project = project
        self._lock = threading.Lock()
        self._open: dict[str, OpenModel] = {}

    def choose(self, name: str) -> OpenModel:
        """Return a model; load it in the background if that was not done yet, or failed."""
        check_name(name, self.names, "model")
        with self._lock:
            if name not in self._open or self._open[name].error:
                self._open[name] = OpenModel(self._project, name)
                self._open[name].start()
            return self._open[name]

    def close(self) -> None:
        """End the work of all models."""
        # Torch aborts the interpreter's exit while another thread computes.
        for model in self._open.values():
            model.close()


def serve_page(project: Path, setting: str, further: Sequence[str], host: str, port: int) -> None:
    """Serve the page of a project's setting until an interrupt; `further` are folders or hub names of encoders."""
    models = OpenModels(SearchProject(project, setting), further)
    # The page's first choice loads while the browser is opened.
    models.choose(models.first)
    server = make_server(models, host)
    with listening(host, port) as listener:
        click.echo(f"Search page: http://{host}:{listener.getsockname()[1]} (Ctrl-C ends it)")
        with closing(models), suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address: from now on, requests wait until they are served."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = error.strerror
        if error.errno == errno.EADDRINUSE:
            reason = "it is in use"
        raise EaseError(f"Cannot listen at {host}:{port}; {reason}: choose another --host or --port.") from error
