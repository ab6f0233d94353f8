"""Find and download dumps from dumps.wikimedia.org, its mirrors and the Internet Archive.

Each server layout has one class below, which knows the addresses and when a dump is complete. `files.py` has the names.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date as Day
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ease.errors import EaseError
from ease.io.atomic import write_text_atomically
from ease.io.downloads import Client, DownloadOptions, NotFound, RemoteFile, download_all
from ease.io.files import report_write_errors
from ease.wikimedia.dumps.files import (
    CHECKSUM_LIST,
    CONTENT_NAME,
    Project,
    WikidataForm,
    nearest_table_first,
    parse_checksums,
)
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

LATEST = "latest"
LayoutName = Literal["auto", "content", "articles"]
_WIKIDATA: dict[WikidataForm, str] = {"json": "all.json", "truthy": "truthy-BETA.nt"}
"""Ends of the names of Wikidata's files, without the compression."""
_DUMP = "dump of articles"
_TABLE = "page_props table"
_NAMES = {_DUMP: r"pages-articles-multistream\d*\.xml(-p\d+p\d+)?\.bz2", _TABLE: r"page_props\.sql\.gz"}
"""Patterns of names after `{wiki}-{date}-`."""
_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True)
class MirrorOptions:
    """Which dumps to download, and where to.

    Dumps are stored in `{folder}/{wiki}/{date}/`. The date is YYYYMMDD, or `latest` for the newest complete dump. The
    layout `auto` uses the content exports if the mirror has them, else the articles dumps.
    """

    folder: Path
    date: str = LATEST
    layout: LayoutName = "auto"
    page_props: bool = False
    wikidata_form: WikidataForm = "json"
    download: DownloadOptions = field(default_factory=DownloadOptions)


class FetchedDumps(NamedTuple):
    """Files of the dumps, all of one date, and page_props tables (empty if not requested), by language."""

    date: str
    pages: Mapping[str, tuple[Path, ...]]
    tables: Mapping[str, Path]


class Unavailable(EaseError):
    """Raised for a dump that is missing or not complete."""


def is_mirror(address: str) -> bool:
    """Return whether a source is the address of a mirror."""
    return address.startswith(("https://", "http://"))


def fetch_dumps(
    mirror: str, languages: Sequence[str], options: MirrorOptions, project: Project = "wiki"
) -> FetchedDumps:
    """Download the dumps of some languages' wikis, all of one date, from a mirror such as https://dumps.wikimedia.org.

    Existing files are skipped. Raises Unavailable if the mirror has no complete dump of a language, and EaseError if a
    file is missing, a checksum differs or the disk is full. Downloaded files are kept.
    """
    wikis = {Language(language).database + project: language for language in languages}
    with Client(options.download) as client:
        layout, date, pages = _choose_layout(mirror, list(wikis), options, client)
        tables: dict[str, RemoteFile] = {}
        if options.page_props:
            # Content exports have no tables, so these come from the articles dumps of the same mirror.
            source = layout
            if not _is_archive(mirror):
                source = _ArticlesDumps(mirror, options, client)
            tables = {wiki: _table_near(source, wiki, date) for wiki in wikis}
        for files in pages.values():
            _write_checksum_list(files)
        downloads = [*(file for files in pages.values() for file in files), *tables.values()]
        fetched = download_all(downloads, client, f"dumps of {date}")
    message = "Dumps of %s, %s: %d files downloaded from %s, %d existed"
    logger.info(message, ", ".join(languages), date, fetched, mirror, len(downloads) - fetched)
    return FetchedDumps(
        date,
        {wikis[wiki]: tuple(file.path for file in files) for wiki, files in pages.items()},
        {wikis[wiki]: file.path for wiki, file in tables.items()},
    )


def _write_checksum_list(files: Sequence[RemoteFile]) -> None:
    """Write the list of a content export beside its files; other dumps have no SHA-256 checksums."""
    sums = [(file.checksums.get("sha256"), file.path.name) for file in files]
    lines = [f"{checksum}  {name}\n" for checksum, name in sums if checksum]
    if not lines:
        return
    # A later run finds in this list whether the export is complete.
    path = files[0].path.with_name(CHECKSUM_LIST)
    with report_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, "".join(lines))


def fetch_wikidata(mirror: str, options: MirrorOptions) -> Path:
    """Download Wikidata's dump and return its path; skips an existing file, and raises as `fetch_dumps` does."""
    kind: type[_Layout] = _WikidataDumps
    if _is_archive(mirror):
        kind = _ArchivedWikidata
    with Client(options.download) as client:
        dumps = kind(mirror, options, client)
        try:
            _, files = _choose_date(dumps, ["wikidatawiki"], options.date)
            file = files["wikidatawiki"][0]
        except Unavailable as fault:
            # A mirror without dated dumps may still have the newest one, in a folder without dates.
            undated = None
            if options.date == LATEST and isinstance(dumps, _WikidataDumps):
                undated = dumps.undated()
            if undated is None:
                raise Unavailable(f"{fault} Set another `wikidata_date`, form or mirror.") from None
            file = undated
        fetched = download_all([file], client, "Wikidata")
    logger.info("%s %s", file.path, "downloaded" if fetched else "existed")
    return file.path


def _is_archive(mirror: str) -> bool:
    return urlsplit(mirror).path.rstrip("/") == "/download"


def _choose_layout(
    mirror: str, wikis: Sequence[str], options: MirrorOptions, client: Client
) -> tuple[_Layout, str, dict[str, list[RemoteFile]]]:
    """Return the first layout in which the dumps of all wikis are complete, their date, and the files of each wiki."""
    layouts = {"content": _ContentExports, "articles": _ArticlesDumps}
    kinds: list[type[_Layout]]
    if _is_archive(mirror):
        kinds = [_Archive]
    elif options.layout == "auto":
        kinds = list(layouts.values())
    else:
        kinds = [layouts[options.layout]]
    faults = []
    for kind in kinds:
        layout = kind(mirror, options, client)
        try:
            return layout, *_choose_date(layout, wikis, options.date)
        except Unavailable as fault:
            faults.append(str(fault))
            logger.info("%s", fault)
    raise Unavailable(
        f"{' '.join(faults)} Set another `dump_date` or mirror, or remove the language from `languages`. Old dumps are "
        "at https://archive.org/download."
    )


def _choose_date(layout: _Layout, wikis: Sequence[str], request: str) -> tuple[str, dict[str, list[RemoteFile]]]:
    """Return the requested date, or the newest that is complete for all wikis, and the files of each wiki.

    Raises Unavailable with the first reason, and the nearest complete date.
    """
    reasons = []
    if request != LATEST:
        try:
            return request, {wiki: layout.pages(wiki, request) for wiki in wikis}
        except Unavailable as fault:
            reasons.append(str(fault))

    dates_by_wiki = {wiki: layout.dates(wiki) for wiki in wikis}
    if missing := [wiki for wiki, dates in dates_by_wiki.items() if not dates]:
        raise Unavailable(f"{layout.place} lists no dumps of {', '.join(missing)}, as of closed and unknown wikis.")
    candidates = sorted(set.intersection(*map(set, dates_by_wiki.values())), reverse=True)
    if request != LATEST:
        candidates.sort(key=lambda date: abs(Day.fromisoformat(date) - Day.fromisoformat(request)))

    # A server lists a date as soon as its dump begins, so the first candidates may be incomplete.
    for date in candidates:
        try:
            pages = {wiki: layout.pages(wiki, date) for wiki in wikis}
        except Unavailable as fault:
            reasons.append(str(fault))
            continue
        if request == LATEST:
            return date, pages
        raise Unavailable(f"{reasons[0]} The nearest complete date there is {date}.")
    fault_of_all = f"{layout.place} has no date with a complete dump of {' and '.join(wikis)}."
    raise Unavailable(" ".join([fault_of_all, *reasons[:1]]))


def _table_near(layout: _Layout, wiki: str, date: str) -> RemoteFile:
    """Return a wiki's newest page_props table at or before a date, else the first one after it."""
    reasons = [f"{layout.place} has no complete page_props table of {wiki}."]
    for table_date in nearest_table_first(layout.dates(wiki), date):
        try:
            return layout.files(wiki, table_date, _TABLE)[0]
        except Unavailable as fault:
            reasons.append(str(fault))
    raise Unavailable(f"{' '.join(reasons[:2])} Set `wikidata_titles` to json, or choose another mirror.")


class _Layout:
    """Dates and files of the dumps on a server; `place` is their address, for messages."""

    PLACE: ClassVar[str] = ""
    """Path of the dumps below the mirror."""
    FOLDER: ClassVar[str] = "{wiki}"
    """Folder with a wiki's dates, on the server and on this machine."""

    def __init__(self, mirror: str, options: MirrorOptions, client: Client) -> None:
        self._mirror = mirror.rstrip("/")
        self._options = options
        self._client = client
        self.place = self._mirror + self.PLACE

    def dates(self, wiki: str) -> list[str]:
        """Return the dates (YYYYMMDD) that the server lists for a wiki, sorted; a listed dump may be incomplete."""
        try:
            listing = self._client.text(f"{self.place}/{self.FOLDER.format(wiki=wiki)}/")
        except NotFound:
            return []
        # The content exports write dates with hyphens, the other folders without.
        names = re.findall(r"href=\"(?:[^\"]*/)?(\d{8}|\d{4}-\d{2}-\d{2})/?\"", listing)
        return sorted({name.replace("-", "") for name in names})

    def pages(self, wiki: str, date: str) -> list[RemoteFile]:
        """Return the files of a dump; raises Unavailable if it is missing or not complete."""
        return self.files(wiki, date, _DUMP)

    def files(self, wiki: str, date: str, kind: str) -> list[RemoteFile]:
        """Return the files of one kind of `_NAMES`; raises Unavailable as `pages` does."""
        raise NotImplementedError

    def _file(self, url: str, wiki: str, date: str, facts: Mapping[str, Any]) -> RemoteFile:
        """Return a file with the size in bytes and the checksums that a server states."""
        folder = self._options.folder / self.FOLDER.format(wiki=wiki) / date
        sums = {name: facts[name] for name in ("sha256", "sha1", "md5") if facts.get(name)}
        size = facts.get("size")
        if size is not None:
            size = int(size)  # the Internet Archive states sizes as text
        return RemoteFile(url, folder / url.rpartition("/")[2], sums, size)

    def _size(self, url: str) -> int | None:
        """Return a file's size in bytes; None if the server does not state it or does not have the file."""
        with suppress(EaseError):
            return self._client.size(url)
        return None

    def _json(self, url: str, read: Callable[[Any], _Parsed]) -> _Parsed:
        """Return the result of a function for a JSON object; raises EaseError if the object is damaged."""
        text = self._client.text(url)
        try:
            return read(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise EaseError(f"{url} is damaged ({reason}): choose another date or mirror.") from error

    def _checksums(self, url: str) -> dict[str, str]:
        """Return checksums by file name; empty if the server does not have the list."""
        with suppress(NotFound):
            return parse_checksums(self._client.text(url))
        return {}


class _ContentExports(_Layout):
    """MediaWiki Content File Exports: the current revisions of the pages of all namespaces, once a month.

    An export is complete when its SHA256SUMS exists, which is written last. The newest three months are kept.
    """

    PLACE: ClassVar[str] = "/other/mediawiki_content_current"

    def pages(self, wiki: str, date: str) -> list[RemoteFile]:
        folder = f"{self.place}/{wiki}/{date[:4]}-{date[4:6]}-{date[6:]}/xml/bzip2"
        checksums = self._checksums(f"{folder}/{CHECKSUM_LIST}")
        if not checksums:
            raise Unavailable(f"{folder} has no complete export (no readable {CHECKSUM_LIST}).")
        files = []
        for name, checksum in checksums.items():
            match = CONTENT_NAME.fullmatch(name)
            if match and match["wiki"] + match["project"] == wiki:
                url = f"{folder}/{name}"
                # The list has no sizes, so the server is asked for each.
                files.append(self._file(url, wiki, date, {"sha256": checksum, "size": self._size(url)}))
        if not files:
            raise Unavailable(f"{folder}/{CHECKSUM_LIST} names no export of {wiki}.")
        return files


class _ArticlesDumps(_Layout):
    """Dumps of articles and tables at `{mirror}/{wiki}/{date}/`; Wikimedia has deprecated those of articles.

    `dumpstatus.json` lists the jobs, and the files of the finished ones with their sizes and checksums.
    """

    JOBS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        _DUMP: ("articlesmultistreamdumprecombine", "articlesmultistreamdump"),
        _TABLE: ("pagepropstable",),
    }
    """For large wikis, the first job joins the parts of the second; small wikis have no parts."""

    def files(self, wiki: str, date: str, kind: str) -> list[RemoteFile]:
        folder = f"{self._mirror}/{wiki}/{date}"

        def read_jobs(status: Any) -> tuple[dict[str, str], list[RemoteFile]]:
            """Return the states of the jobs, and the files of the first finished one."""
            jobs = {job: status["jobs"][job] for job in self.JOBS[kind] if job in status["jobs"]}
            finished: dict[str, Any] = next((job for job in jobs.values() if job["status"] == "done"), {})
            files = [
                self._file(f"{folder}/{name}", wiki, date, facts)
                for name, facts in sorted(finished.get("files", {}).items())
                if re.fullmatch(f"{wiki}-{date}-{_NAMES[kind]}", name)
            ]
            return {name: job["status"] for name, job in jobs.items()}, files

        try:
            states, files = self._json(f"{folder}/dumpstatus.json", read_jobs)
        except NotFound:
            raise Unavailable(f"{folder} has no dump (dumpstatus.json).") from None
        if "done" not in states.values():
            progress = ", ".join(f"{job} is {state}" for job, state in states.items()) or "it has no such job"
            raise Unavailable(f"The {kind} of {wiki} of {date} is not finished: {progress}.")
        if not files:
            raise Unavailable(f"{folder}/dumpstatus.json names no file of the {kind}.")
        if unchecked := [file.url for file in files if not file.checksums]:
            raise EaseError(f"{unchecked[0]} has no published checksum: choose another date or mirror.")
        return files


class _WikidataDumps(_Layout):
    """Wikidata's JSON and truthy dumps at `{mirror}/wikidatawiki/entities/{date}/`, with their own dates.

    A dump is complete when the checksum list of its date names it.
    """

    FOLDER: ClassVar[str] = "{wiki}/entities"

    def pages(self, wiki: str, date: str) -> list[RemoteFile]:
        folder = f"{self._mirror}/{wiki}/entities/{date}"
        name = f"wikidata-{date}-{_WIKIDATA[self._options.wikidata_form]}.bz2"
        if checksum := self._checksums(f"{folder}/wikidata-{date}-sha1sums.txt").get(name):
            url = f"{folder}/{name}"
            return [self._file(url, wiki, date, {"sha1": checksum, "size": self._size(url)})]
        raise Unavailable(f"{folder} has no finished {name}: its sha1sums.txt does not list it.")

    def undated(self) -> RemoteFile | None:
        """Return the newest JSON dump from the folder without dates and checksums; None if the mirror has none."""
        if self._options.wikidata_form != "json":
            return None
        url = f"{self._mirror}/other/wikibase/wikidatawiki/latest-all.json.bz2"
        size = self._size(url)
        if not size:
            return None
        # Without a checksum, the size is the only sign that the download is complete.
        return self._file(url, "wikidatawiki", LATEST, {"size": size})


class _Archive(_Layout):
    """The Internet Archive's items `{wiki}-{YYYYMMDD}`, each with the files of one old articles dump.

    `/metadata/{item}` lists an item's files with their sizes and checksums; it is empty for an unknown item.
    """

    PREFIXES: ClassVar[tuple[str, ...]] = ("{wiki}-",)
    """Beginnings of the items' names, before the date."""

    def dates(self, wiki: str) -> list[str]:
        dates = set()
        for prefix in (prefix.format(wiki=wiki) for prefix in self.PREFIXES):
            query = f"q=identifier:{prefix}2*&fl[]=identifier&rows=500&output=json"
            url = f"{self._mirror.removesuffix('/download')}/advancedsearch.php?{query}"
            names = self._json(url, lambda answer: [item["identifier"] for item in answer["response"]["docs"]])
            # The search also returns items whose names only begin like these, such as those of other dumps.
            dates |= {name[-8:] for name in names if re.fullmatch(rf"{re.escape(prefix)}\d{{8}}", name)}
        return sorted(dates)

    def files(self, wiki: str, date: str, kind: str) -> list[RemoteFile]:
        # Dumps were not multistream at first.
        for name in dict.fromkeys((_NAMES[kind], _NAMES[kind].replace("-multistream", ""))):
            if files := self._matching_files(wiki, date, f"{wiki}-{date}-{name}"):
                return [file for file in files if file.path.name.endswith(".xml.bz2")] or files
        raise Unavailable(f"{self.place} has no {kind} of {wiki} of {date}.")

    def _matching_files(self, wiki: str, date: str, pattern: str) -> list[RemoteFile]:
        """Return a dump's files whose names match a pattern, sorted by name."""
        files = list[RemoteFile]()
        for item in (prefix.format(wiki=wiki) + date for prefix in self.PREFIXES):
            folder = f"{self._mirror}/{item}"
            with suppress(NotFound):
                files += self._json(
                    f"{self._mirror.removesuffix('/download')}/metadata/{item}",
                    lambda answer, folder=folder: [  # type: ignore[misc]
                        self._file(f"{folder}/{facts['name']}", wiki, date, facts)
                        for facts in sorted(answer.get("files", []), key=lambda facts: facts["name"])
                        if re.fullmatch(pattern, facts["name"])
                    ],
                )
        return [file for file in files if file.checksums]


class _ArchivedWikidata(_Archive):
    """The Internet Archive's items with Wikidata's JSON and truthy dumps."""

    FOLDER: ClassVar[str] = _WikidataDumps.FOLDER
    PREFIXES: ClassVar[tuple[str, ...]] = ("wikibase-{wiki}-", "wikidata-json-", "{wiki}-")

    def pages(self, wiki: str, date: str) -> list[RemoteFile]:
        name = f"wikidata-{date}-{_WIKIDATA[self._options.wikidata_form]}"
        if files := self._matching_files(wiki, date, rf"{re.escape(name)}\.(?:bz2|gz)"):
            return files[:1]
        raise Unavailable(f"{self.place} has no {name}.bz2 or .gz.")
