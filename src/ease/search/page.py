"""The search page: a form, results of models side by side, and a map of languages, without scripts or other hosts."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from ipaddress import ip_address
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ease.errors import EaseError
from ease.io.names import UNTRAINED
from ease.methods import get_method, method_names
from ease.search.engine import Found, NearEntity, Search
from ease.search.maps import LanguageMap, map_languages
from ease.search.opened import OpenModels
from ease.search.reasons import words_of
from ease.wikimedia.languages import Language

LARGEST_K = 50
CODE = re.compile(r"[a-z][a-z0-9-]{1,19}")
"""Form of the codes of Wikipedia's languages"""
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
    embedded: tuple[int, int] | None = None
    """Sentences that the answer was chosen from, and their number; None: all"""
    found: Sequence[Found] = ()
    entities: Sequence[NearEntity] = ()
    map: LanguageMap | None = None
    error: str = ""


class _Guard:
    """Refuses requests of other sites' pages: from their origin, or by a name that they have pointed to this host."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        """Accept addresses, `localhost`, this machine's name, and `host`."""
        self._app, self._names = app, {"localhost", socket.gethostname().lower(), host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, answer = Headers(scope=scope), self._app
        if not self._is_own(headers.get("host", "")):
            answer = PlainTextResponse("Unknown host: open the address that the command printed.", 400)
        elif headers.get("sec-fetch-site") == "cross-site":
            answer = PlainTextResponse("Requests of other sites are refused: open the address itself.", 403)
        await answer(scope, receive, send)

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ip_address(name))
        except ValueError:
            return False


class ImpatientProtocol(H11Protocol):
    """Closes a connection that is idle, also before its first request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request."""
        super().data_received(data)
        self._wait_for_request()

    def _wait_for_request(self) -> None:
        if self.timeout_keep_alive_task is None and (self.cycle is None or self.cycle.response_complete):
            close = self.timeout_keep_alive_handler
            self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, close)


def make_app(models: OpenModels, host: str = "localhost") -> Starlette:
    """Return the application; a model is loaded when a request first chooses it.

    Args:
        models: The models of the page.
        host: A name of this machine, beside its addresses, by which browsers may ask.
    """
    environment = Environment(loader=PackageLoader("ease.search"), autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.filters["pieces"] = marked_pieces
    environment.globals.update(title_of=model_title, hue=_hue, language_name=_language_name)
    style = files("ease.search").joinpath("templates/style.css").read_text(encoding="utf-8")

    def show(request: Request, answer: Callable[[Panel, Search, Asked], Panel], template: str) -> Response:
        error, panels, asked = "", [], Asked("", models.names[-1:], [], _reader_of(request), 10)
        try:
            asked = _asked(request, models)
            if asked.text or template == "map.html.j2":
                panels = _answers(models, asked, answer)
        except EaseError as problem:
            error = str(problem)
        html = environment.get_template(template).render(
            asked=asked,
            panels=panels,
            error=error,
            models=models.names,
            languages=_languages(panels),
            waiting=any(not panel.search and not panel.error for panel in panels),
            query=request.url.query,
        )
        return HTMLResponse(html, 400 if error else 200, {"Content-Security-Policy": POLICY})

    def search(request: Request) -> Response:
        return show(request, _search_panel, "search.html.j2")

    def language_map(request: Request) -> Response:
        return show(request, _map_panel, "map.html.j2")

    def stylesheet(request: Request) -> Response:
        return Response(style, media_type="text/css")

    return Starlette(
        routes=[Route("/", search), Route("/map", language_map), Route("/style.css", stylesheet)],
        middleware=[Middleware(_Guard, host)],
    )


def _asked(request: Request, models: OpenModels) -> Asked:
    """Read the form.

    Raises:
        EaseError: If a value is wrong.
    """
    given = request.query_params
    k = given.get("k", "10")
    if not re.fullmatch("[0-9]{1,4}", k) or not 1 <= int(k) <= LARGEST_K:
        raise EaseError(f"{k[:20]!r} results: ask for a number from 1 to {LARGEST_K}.")
    chosen = list(dict.fromkeys(given.getlist("model"))) or models.names[-1:]
    reader, languages = given.get("reader") or _reader_of(request), [*filter(None, given.getlist("language"))]
    for code in (reader, *languages):
        if not CODE.fullmatch(code):
            raise EaseError(f"{code[:20]!r} is not a language's code: write one such as en.")
    return Asked(given.get("q", "").strip(), chosen, languages, reader, int(k))


def _reader_of(request: Request) -> str:
    """Return the first language that the browser asks for."""
    first = request.headers.get("accept-language", "en").partition(",")[0]
    code = first.partition(";")[0].partition("-")[0].strip().lower()
    return code if CODE.fullmatch(code) else "en"


def _answers(
    models: OpenModels, asked: Asked, answer: Callable[[Panel, Search, Asked], Panel]
) -> list[Panel]:
    """Load all chosen models at once, then ask each."""
    chosen = [models.choose(name) for name in asked.models]
    panels = []
    for model in chosen:
        model.wait()
        # Read before the answer, since the thread that builds the index continues meanwhile.
        embedded, search = None if model.complete else model.progress, model.search
        panel = Panel(model.name, model_title(model.name), search, embedded, error=model.error)
        try:
            panels.append(answer(panel, search, asked) if search else panel)
        except EaseError as error:
            panels.append(replace(panel, error=str(error)))
    return panels


def _search_panel(panel: Panel, search: Search, asked: Asked) -> Panel:
    found = search.search(asked.text, asked.k, asked.languages or None, asked.reader)
    return replace(panel, found=found, entities=search.nearest_entities(asked.text, 8, asked.reader))


def _map_panel(panel: Panel, search: Search, asked: Asked) -> Panel:
    return replace(panel, map=map_languages(search, asked.text))


def model_title(name: str) -> str:
    """Return how the page calls a model."""
    if name in method_names():
        return get_method(name).title
    return "Untrained" if name == UNTRAINED else name


def marked_pieces(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is one of the words, whatever its case."""
    wanted = {word.casefold() for word in words}
    pieces, start = [], 0
    for word in words_of(text):
        if word.casefold() in wanted:
            place = text.index(word, start)
            pieces += [(text[start:place], False), (word, True)]
            start = place + len(word)
        else:
            place = text.index(word, start)
            pieces.append((text[start : place + len(word)], False))
            start = place + len(word)
    return [piece for piece in [*pieces, (text[start:], False)] if piece[0]]


def _languages(panels: Sequence[Panel]) -> list[str]:
    """Return the languages of the sentences, known once a model is open."""
    return next((panel.search.index.languages for panel in panels if panel.search), [])


def _language_name(code: str) -> str:
    return Language(code).english_name


def _hue(number: int) -> int:
    """Return a hue in degrees; neighbouring numbers differ by the golden angle."""
    return round(number * 137.5) % 360
