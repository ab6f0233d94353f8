"""Dumps on dumps.wikimedia.org and its mirrors: which there are, and fetching them.

A wiki's dump lies at `{mirror}/{wiki}/{date}/`, with `dumpstatus.json` beside it, which says what is finished, and
how long each file is, with its checksums. Wikidata's JSON and truthy dumps lie at
`{mirror}/wikidatawiki/entities/{date}/`, each on dates of its own, with `wikidata-{date}-sha1sums.txt`, into which each
file's sum is written when the file is finished.
"""

from __future__ import annotations

import glob
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ease.errors import EaseError
from ease.io.downloads import Client, DownloadOptions, NotFound, RemoteFile, download_all
from ease.wikimedia.dumps.files import Project
from ease.wikimedia.dumps.wikidata_files import WikidataForm
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

LATEST = "latest"

_JOBS = {
    "multistream": ("articlesmultistreamdumprecombine", "articlesmultistreamdump"),
    "plain": ("articlesdumprecombine", "articlesdump"),
}
"""The jobs that write each kind: of large wikis one joins the parts that another writes; small ones have no parts."""
_MIDDLE = {"multistream": "-multistream", "plain": ""}
"""What the names of the files say of the kind."""

_PAGE_PROPS_JOB = "pagepropstable"
_WIKIDATA: dict[WikidataForm, str] = {"json": "all.json", "truthy": "truthy-BETA.nt"}
"""What the names of Wikidata's files end in, before the packing."""

_DATE = re.compile(r"href=\"(?:[^\"]*/)?(\d{8})/?\"")
_SUM = re.compile(r"([0-9a-f]{32,64}) [ *](?:.*/)?([^/\n]+)")


class MirrorOptions(BaseModel):
    """Which dumps to fetch, and where to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path = Field(description="where the dumps are put, as `{wiki}/{date}/` below it")
    date: str = Field(
        LATEST,
        pattern=rf"^(\d{{8}}|{LATEST})$",
        description="YYYYMMDD, or `latest` for the newest finished one",
    )
    kind: Literal["multistream", "plain"] = Field(
        "multistream", description="of the pages' dump; multistream is read in parallel"
    )
    page_props: bool = Field(False, description="fetch the wikis' page_props tables, too")
    wikidata_form: WikidataForm = Field("json", description="of Wikidata's dump: all of it, or truthy")
    packing: Literal["bz2", "gz"] = Field(
        "bz2", description="of Wikidata's dump; gz is larger and unpacks faster"
    )
    download: DownloadOptions = DownloadOptions()


@dataclass(frozen=True)
class FetchedDumps:
    """The files of the dumps that were asked for; all have one date."""

    date: str
    files: Mapping[str, tuple[Path, ...]]
    """By language."""
    source: str
    """The glob that `find_dumps` finds them by."""


def is_mirror(address: str) -> bool:
    """Whether a source's address is that of a mirror."""
    return address.startswith(("https://", "http://"))


def wiki_name(language: str, project: Project = "wiki") -> str:
    """The name of a wiki's database, which its dumps bear: zh-min-nan is zh_min_nanwiki, be-tarask be_x_oldwiki."""
    return Language(language).database + project


def fetch_dumps(
    mirror: str, languages: Sequence[str], options: MirrorOptions, project: Project = "wiki"
) -> FetchedDumps:
    """Fetch the dumps of some languages' wikis, all of one date; what is there already is not fetched again.

    Args:
        mirror: Such as https://dumps.wikimedia.org.
        languages: Of the wikis.
        options: Which dumps.
        project: `wiki` for Wikipedia, `wikinews` for Wikinews.

    Raises:
        EaseError: If the mirror lacks a language or a finished dump of one, a file cannot be had or is wrong, or
            the disk is full. What has been fetched is kept.
    """
    wikis = {language: wiki_name(language, project) for language in languages}
    with Client(options.download) as client:
        shelf = _Shelf(mirror.rstrip("/"), options, client)
        date = shelf.newest(list(wikis.values())) if options.date == LATEST else options.date
        files = {language: shelf.files(wiki, date) for language, wiki in wikis.items()}
        wanted = [file for some in files.values() for file in some]
        outcome = download_all(wanted, client, f"dumps of {date}")
    outcome.require_all()
    logger.info(
        "Dumps of %s, %s: %d files fetched from %s, %d were there",
        *(", ".join(wikis), date, len(outcome.fetched), mirror, len(outcome.present)),
    )
    paths = {language: tuple(file.path for file in some) for language, some in files.items()}
    # After the kind comes the number of a part, or a dot.
    names = f"*{project}/{date}/*-pages-articles{_MIDDLE[options.kind]}[0-9.]*"
    return FetchedDumps(date, paths, f"{glob.escape(str(options.folder))}/{names}")


def fetch_wikidata(mirror: str, options: MirrorOptions) -> Path:
    """Fetch Wikidata's dump; where it is there already, it is not fetched again.

    Raises:
        EaseError: If the mirror lacks it, it cannot be had or is wrong, or the disk is full.
    """
    with Client(options.download) as client:
        file = _Shelf(mirror.rstrip("/"), options, client).wikidata()
        outcome = download_all([file], client, "Wikidata")
    outcome.require_all()
    return file.path


class _Shelf:
    """What a mirror has."""

    def __init__(self, mirror: str, options: MirrorOptions, client: Client) -> None:
        self._mirror, self._options, self._client = mirror, options, client

    def newest(self, wikis: Sequence[str]) -> str:
        """The newest date of which all the wikis' dumps are finished.

        Raises:
            EaseError: If a wiki has no dumps here, or there is no such date.
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
            f"{self._mirror} has no date of which the dumps of all {len(wikis)} wikis are finished: {', '.join(wikis)}."
            f"{unfinished} Give a `dump_date`, or fewer languages."
        )

    def files(self, wiki: str, date: str) -> list[RemoteFile]:
        """The files of a wiki's dump.

        Raises:
            _Unfinished: If it is not finished.
            EaseError: If the wiki has no dumps here.
        """
        folder = f"{self._mirror}/{wiki}/{date}"
        try:
            status = self._json(f"{folder}/dumpstatus.json")
        except NotFound:
            dates = self._dates(wiki)
            raise _Unfinished(
                f"{folder} tells of no dump (dumpstatus.json). {self._mirror} has {wiki} of {', '.join(dates)}."
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
        """Wikidata's dump of the wanted date, or the newest one that is finished.

        Raises:
            EaseError: If there is none.
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
            f"{entities} has no finished dump of {self._options.date} ({ending}): none is named in "
            "wikidata-YYYYMMDD-sha1sums.txt or -md5sums.txt. Give another `wikidata_date`."
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
        """A file's published checksums, from the lists beside it."""
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
                f"{self._mirror} has no dumps of {folder}: {error} Take the language out of `languages`, or "
                "choose another mirror."
            ) from None
        return sorted(set(_DATE.findall(listing)))

    def _json(self, url: str) -> dict[str, Any]:
        try:
            status = json.loads(self._client.text(url))
        except json.JSONDecodeError as error:
            raise EaseError(f"{url} is no JSON ({error}): choose another date or mirror.") from error
        if not isinstance(status, dict):
            raise EaseError(f"{url} is no status of a dump: choose another date or mirror.")
        return status


def _finished_job(jobs: Mapping[str, Any], names: Sequence[str], what: str) -> Mapping[str, Any]:
    """The first of some jobs that is done."""
    told = {name: jobs[name].get("status") for name in names if name in jobs}
    done = next((name for name, word in told.items() if word == "done"), None)
    if done is None:
        words = ", ".join(f"{name} is {word}" for name, word in told.items()) or "it has no such job"
        raise _Unfinished(f"The {what} is not finished: {words}.")
    return jobs[done]


class _Unfinished(EaseError):
    """A dump that is not there, or not whole yet."""
