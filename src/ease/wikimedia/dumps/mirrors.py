"""Find and download dumps on dumps.wikimedia.org and its mirrors.

A wiki's dump is at `{mirror}/{wiki}/{date}/`. Its `dumpstatus.json` lists the finished jobs, and the files with their
sizes and checksums. Wikidata's JSON and truthy dumps are at `{mirror}/wikidatawiki/entities/{date}/`, with dates of
their own. `wikidata-{date}-sha1sums.txt` lists the checksum of each finished file.
"""

from __future__ import annotations

import glob
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ease.errors import EaseError
from ease.io.downloads import Client, DownloadOptions, NotFound, RemoteFile, download_all
from ease.wikimedia.dumps.files import Project, WikidataForm
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

LATEST = "latest"

_JOBS = {
    "multistream": ("articlesmultistreamdumprecombine", "articlesmultistreamdump"),
    "plain": ("articlesdumprecombine", "articlesdump"),
}
"""Jobs that write each kind. For large wikis, the first joins the parts of the second; small wikis have no parts."""
_MIDDLE = {"multistream": "-multistream", "plain": ""}
"""How the kind appears in the names of the files."""

_PAGE_PROPS_JOB = "pagepropstable"
_WIKIDATA: dict[WikidataForm, str] = {"json": "all.json", "truthy": "truthy-BETA.nt"}
"""Ends of the names of Wikidata's files, without the compression."""

_DATE = re.compile(r"href=\"(?:[^\"]*/)?(\d{8})/?\"")
_SUM = re.compile(r"([0-9a-f]{32,64}) [ *](?:.*/)?([^/\n]+)")


@dataclass(frozen=True)
class MirrorOptions:
    """Which dumps to download, and where to.

    Attributes:
        folder: Gets the dumps in `{wiki}/{date}/` below it.
        date: YYYYMMDD, or `latest` for the newest finished dump.
        kind: Kind of the pages' dump.
        page_props: Whether to download the wikis' page_props tables, too.
        wikidata_form: Form of Wikidata's dump.
        packing: Compression of Wikidata's dump.
        download: Connections and retries.
    """

    folder: Path
    date: str = LATEST
    kind: Literal["multistream", "plain"] = "multistream"
    page_props: bool = False
    wikidata_form: WikidataForm = "json"
    packing: Literal["bz2", "gz"] = "bz2"
    download: DownloadOptions = field(default_factory=DownloadOptions)


class FetchedDumps(NamedTuple):
    """The downloaded files, all of one date."""

    date: str
    files: Mapping[str, tuple[Path, ...]]
    """Paths by language."""
    source: str
    """Glob with which `find_dumps` finds the dumps."""


def is_mirror(address: str) -> bool:
    """Whether a source is the address of a mirror."""
    return address.startswith(("https://", "http://"))


def wiki_name(language: str, project: Project = "wiki") -> str:
    """Return the database name of a wiki, as in its dumps' names: zh-min-nan is zh_min_nanwiki."""
    return Language(language).database + project


def fetch_dumps(
    mirror: str, languages: Sequence[str], options: MirrorOptions, project: Project = "wiki"
) -> FetchedDumps:
    """Download the dumps of some languages' wikis, all of one date, from a mirror such as https://dumps.wikimedia.org.

    Files that exist are skipped.

    Raises:
        EaseError: If the mirror has no finished dump of a language, a file is missing or has a wrong checksum, or the
            disk is full. Downloaded files are kept.
    """
    wikis = {language: wiki_name(language, project) for language in languages}
    with Client(options.download) as client:
        index = MirrorIndex(mirror.rstrip("/"), options, client)
        date = index.newest(list(wikis.values())) if options.date == LATEST else options.date
        files = {language: index.files(wiki, date) for language, wiki in wikis.items()}
        wanted = [file for some in files.values() for file in some]
        outcome = download_all(wanted, client, f"dumps of {date}")
    outcome.require_all()
    message = "Dumps of %s, %s: %d files downloaded from %s, %d existed"
    logger.info(message, ", ".join(wikis), date, len(outcome.fetched), mirror, len(outcome.present))
    paths = {language: tuple(file.path for file in some) for language, some in files.items()}
    # The kind is followed by the number of a part or by a dot.
    names = f"*{project}/{date}/*-pages-articles{_MIDDLE[options.kind]}[0-9.]*"
    return FetchedDumps(date, paths, f"{glob.escape(str(options.folder))}/{names}")


def fetch_wikidata(mirror: str, options: MirrorOptions) -> Path:
    """Download Wikidata's dump; skips a file that exists.

    Raises:
        EaseError: If the mirror does not have the dump, its checksum is wrong, or the disk is full.
    """
    with Client(options.download) as client:
        file = MirrorIndex(mirror.rstrip("/"), options, client).wikidata()
        outcome = download_all([file], client, "Wikidata")
    outcome.require_all()
    logger.info("%s %s", file.path, "downloaded" if outcome.fetched else "existed")
    return file.path


class MirrorIndex:
    """The dumps that a mirror has."""

    def __init__(self, mirror: str, options: MirrorOptions, client: Client) -> None:
        self._mirror, self._options, self._client = mirror, options, client

    def newest(self, wikis: Sequence[str]) -> str:
        """Return the newest date for which the dumps of all wikis are finished.

        Raises:
            EaseError: If a wiki has no dumps, or there is no such date.
        """
        dates = set.intersection(*(set(self._dates(wiki)) for wiki in wikis))
        unfinished = ""
        for date in sorted(dates, reverse=True):
            try:
                for wiki in wikis:
                    self.files(wiki, date)
            except _Unfinished as reason:
                unfinished = unfinished or f" The newest: {reason}"
                logger.info("%s", reason)
            else:
                return date
        raise EaseError(
            f"{self._mirror} has no date with finished dumps of all {len(wikis)} wikis: {', '.join(wikis)}."
            f"{unfinished} Set `dump_date`, or fewer languages."
        )

    def files(self, wiki: str, date: str) -> list[RemoteFile]:
        """Return the files of a wiki's dump.

        Raises:
            _Unfinished: If the dump is missing or not finished.
            EaseError: If the wiki has no dumps.
        """
        folder = f"{self._mirror}/{wiki}/{date}"
        try:
            status = self._json(f"{folder}/dumpstatus.json")
        except NotFound:
            dates = self._dates(wiki)
            raise _Unfinished(
                f"{folder} has no dump (dumpstatus.json). {self._mirror} has {wiki} of {', '.join(dates)}."
            ) from None
        kind, jobs = self._options.kind, status.get("jobs", {})
        pages = rf"pages-articles{_MIDDLE[kind]}\d*\.xml(-p\d+p\d+)?\.bz2"
        wanted: list[tuple[str, tuple[str, ...], str]] = [(f"{kind} dump", _JOBS[kind], pages)]
        if self._options.page_props:
            wanted.append(("page_props table", (_PAGE_PROPS_JOB,), r"page_props\.sql\.gz"))
        found: dict[str, Any] = {}
        for what, names, pattern in wanted:
            job = _finished_job(jobs, names, f"{what} of {wiki} of {date}")
            name = re.compile(rf"{wiki}-{date}-{pattern}")
            own = {file: facts for file, facts in job.get("files", {}).items() if name.fullmatch(file)}
            if not own:
                raise _Unfinished(f"{folder}/dumpstatus.json names no file of the {what}.")
            found |= own
        return [self._file(folder, wiki, date, file, facts) for file, facts in sorted(found.items())]

    def wikidata(self) -> RemoteFile:
        """Return Wikidata's dump of the requested date, or the newest finished dump.

        Raises:
            EaseError: If there is no such dump.
        """
        entities = f"{self._mirror}/wikidatawiki/entities"
        dates = self._dates("wikidatawiki/entities") if self._options.date == LATEST else [self._options.date]
        ending = f"{_WIKIDATA[self._options.wikidata_form]}.{self._options.packing}"
        for date in sorted(dates, reverse=True):
            name = f"wikidata-{date}-{ending}"
            if sums := self._sums(f"{entities}/{date}/wikidata-{date}", name):
                path = self._options.folder / "wikidatawiki" / "entities" / date / name
                url = f"{entities}/{date}/{name}"
                return RemoteFile(url, path, sums, self._client.size(url))
        raise EaseError(
            f"{entities} has no finished dump of {self._options.date} ({ending}): "
            "wikidata-YYYYMMDD-sha1sums.txt and -md5sums.txt list none. Set another `wikidata_date`."
        )

    def _file(self, folder: str, wiki: str, date: str, name: str, facts: Mapping[str, Any]) -> RemoteFile:
        sums = {algorithm: facts[algorithm] for algorithm in ("sha1", "md5") if facts.get(algorithm)}
        sums = sums or self._sums(f"{folder}/{wiki}-{date}", name)
        if not sums:
            raise EaseError(f"{folder}/{name} has no published checksum: choose another date or mirror.")
        return RemoteFile(
            f"{folder}/{name}", self._options.folder / wiki / date / name, sums, facts.get("size")
        )

    def _sums(self, stem: str, name: str) -> dict[str, str]:
        """Return a file's published checksums from the lists in its folder."""
        for algorithm in ("sha1", "md5"):
            try:
                listed = _SUM.findall(self._client.text(f"{stem}-{algorithm}sums.txt"))
            except NotFound:
                continue
            if found := {listed_name: value for value, listed_name in listed}.get(name):
                return {algorithm: found}
        return {}

    def _dates(self, folder: str) -> list[str]:
        try:
            listing = self._client.text(f"{self._mirror}/{folder}/")
        except NotFound as error:
            raise EaseError(
                f"{self._mirror} has no dumps of {folder}: {error} Remove the language from `languages`, or choose "
                "another mirror."
            ) from None
        return sorted(set(_DATE.findall(listing)))

    def _json(self, url: str) -> dict[str, Any]:
        try:
            status = json.loads(self._client.text(url))
        except json.JSONDecodeError as error:
            raise EaseError(f"{url} is not JSON ({error}): choose another date or mirror.") from error
        if not isinstance(status, dict):
            raise EaseError(f"{url} is not the status of a dump: choose another date or mirror.")
        return status


def _finished_job(jobs: Mapping[str, Any], names: Sequence[str], what: str) -> Mapping[str, Any]:
    """Return the first finished job of the given names."""
    found = {name: jobs[name].get("status") for name in names if name in jobs}
    done = next((name for name, status in found.items() if status == "done"), None)
    if done is None:
        states = ", ".join(f"{name} is {status}" for name, status in found.items()) or "it has no such job"
        raise _Unfinished(f"The {what} is not finished: {states}.")
    return jobs[done]


class _Unfinished(EaseError):
    """Raised for a dump that is missing or not finished."""
