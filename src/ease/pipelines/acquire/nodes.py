"""Locate or download the dumps; generate the sample wiki if the source is `sample:`."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from ease.entities.pairs import PairOptions
from ease.entities.released import find_released
from ease.errors import EaseError
from ease.io.addresses import address_of
from ease.io.downloads import Client, ConnectionOptions, DownloadOptions, RemoteFile, download
from ease.io.files import hash_contents
from ease.pipelines.setting import Setting
from ease.sample import SampleFiles, SampleOptions, write_sample
from ease.sample.world import SAMPLE_LANGUAGES
from ease.wikimedia.dumps.files import DumpFile, WikidataForm, dump_date, find_dumps, find_wikidata, table_folders
from ease.wikimedia.dumps.mirrors import LATEST, LayoutName, MirrorOptions, fetch_dumps, fetch_wikidata, is_mirror
from ease.wikimedia.wikidata import find_page_props

logger = logging.getLogger(__name__)

SAMPLE = "sample:"
"""Address of the sample wiki; its files are `sample:NAME`."""


def _as_date(value: object) -> str:
    """Return `latest`, or a date as YYYYMMDD; YAML reads 20261101 as a number and 2026-11-01 as a date."""
    text = str(value)
    if text == LATEST:
        return text
    if re.fullmatch(r"\d{8}|\d{4}-\d\d-\d\d", text):
        with suppress(ValueError):
            return f"{date.fromisoformat(text):%Y%m%d}"
    raise ValueError(f"{text!r} is no date: give one such as 2026-11-01, or {LATEST}")


DumpDate = Annotated[str, BeforeValidator(_as_date)]
"""YYYYMMDD or `latest`."""


class AcquireOptions(ConnectionOptions):
    """The sources of the dumps, and the folders for downloaded and generated dumps."""

    wikipedia: str = Field(
        description="`sample:`, the https address of a mirror or of the Internet Archive, or a folder, a glob or a "
        "file of Wikipedia dumps, here or at an address that fsspec reaches"
    )
    wikidata: str | None = Field(
        description="`sample:`, a mirror's https address, a file or folder of a Wikidata dump, likewise, or null "
        "for none"
    )
    wikidata_titles: Literal["json", "page_props"] = Field(
        "json",
        description="source of the titles' items: Wikidata's JSON dump, or the wikis' page_props tables, which lie "
        "beside their dumps",
    )
    wikidata_types: WikidataForm = Field(
        "json", description="source of the items' types: Wikidata's JSON dump, or its truthy statements"
    )
    sample_folder: Path = Field(description="folder of the sample wiki")
    sample: SampleOptions = Field(description="size and seed of the sample wiki")
    download_folder: Path = Field(description="folder of downloaded dumps")
    dump_date: DumpDate = Field(LATEST, description="YYYY-MM-DD, or `latest` for the newest complete one")
    wikidata_date: DumpDate = Field(LATEST, description="date of the Wikidata dump, not the wikis'")
    layout: LayoutName = Field(
        "auto", description="content exports, articles dumps, or the exports where the mirror has them"
    )

    @model_validator(mode="after")
    def _check_wikidata(self) -> Self:
        if self.wikidata_titles == "json" and self.wikidata_types == "truthy":
            raise ValueError(
                "`wikidata_types: truthy` goes with `wikidata_titles: page_props`: the JSON dump has both titles "
                "and types"
            )
        return self

    def mirror(self, date: str | None = None) -> MirrorOptions:
        """Return which dumps of a mirror to download, by default the wikis' of `dump_date`."""
        return MirrorOptions(
            folder=self.download_folder,
            date=date or self.dump_date,
            layout=self.layout,
            page_props=self.wikidata_titles == "page_props",
            wikidata_form=self.wikidata_types,
            download=self.download,
        )

    @property
    def download(self) -> DownloadOptions:
        """How files are downloaded."""
        return DownloadOptions(connections=self.connections, contact=self.contact)


def locate_dumps(options: AcquireOptions, setting: Setting, pairs: PairOptions) -> dict[str, Any]:
    """List the dump files of the setting's languages, their page_props and the Wikidata dump, with their dates.

    Missing files of a mirror are downloaded. If the options of the pairs name released ones, these are listed instead.
    """
    if pairs.released:
        return _locate_released(pairs.released, options)
    own_items = options.wikidata_titles == "page_props"
    if not options.wikidata and not own_items and len(setting.languages) > 1:
        raise EaseError(
            f"`acquire.wikidata` is null, but `{setting.name}` has {len(setting.languages)} languages: only Wikidata "
            "identifies the same entity across them. Give a Wikidata JSON dump, set `wikidata_titles` to "
            "page_props, or give one language."
        )
    dumps, tables = _wikipedia(options, setting)
    dates = {dump.language: dump.dump_date for dump in dumps}
    shown = ", ".join(sorted({date or "unknown" for date in dates.values()}))
    logger.info("%d dumps of %s, dated %s", len(dumps), ", ".join(setting.languages), shown)
    page_props = find_page_props(tables, dates) if own_items else []
    form = options.wikidata_types
    wikidata_file = find_wikidata(_wikidata(options.wikidata, options), form) if options.wikidata else None
    return {
        "source": options.wikipedia,
        "wikidata_source": options.wikidata,
        "wikipedia": [dump.as_json() for dump in dumps],
        "page_props": [table.as_json() for table in page_props],
        "wikidata": address_of(wikidata_file) if wikidata_file else None,
        "wikidata_form": form if wikidata_file else None,
        "wikidata_date": dump_date(wikidata_file) if wikidata_file else None,
    }


def _wikipedia(options: AcquireOptions, setting: Setting) -> tuple[list[DumpFile], list[Path]]:
    """Return the wikis' dumps, and places of their page_props tables; make the sample's, or download a mirror's."""
    if is_mirror(options.wikipedia):
        fetched = fetch_dumps(options.wikipedia, setting.languages, options.mirror())
        files = [path for paths in fetched.pages.values() for path in paths]
        return find_dumps(files, setting.languages), list(fetched.tables.values())
    source = str(_make_sample(options).wikipedia) if options.wikipedia == SAMPLE else options.wikipedia
    dumps = find_dumps(source, setting.languages)
    return dumps, table_folders(source, dumps)


def _wikidata(source: str, options: AcquireOptions) -> str | Path:
    """Return the local or remote address of Wikidata's dump; make the sample's, or download a mirror's."""
    if source == SAMPLE:
        sample = _make_sample(options)
        return sample.truthy if options.wikidata_types == "truthy" else sample.wikidata
    return fetch_wikidata(source, options.mirror(options.wikidata_date)) if is_mirror(source) else source


def has_items(dumps: Mapping[str, Any]) -> bool:
    """Return whether the dumps say which Wikidata item a page has: by a Wikidata dump or page_props tables."""
    return bool(dumps["wikidata"] or dumps["page_props"])


def _locate_released(source: str, options: AcquireOptions) -> dict[str, Any]:
    """List the files of released pairs in place of dumps; the file at an https address is downloaded once."""
    if is_mirror(source):
        folder = options.download_folder / "released" / hashlib.sha256(source.encode()).hexdigest()[:16]
        files = [folder / (Path(urlsplit(source).path).name or "pairs.json")]
        with Client(options.download) as client:
            download(RemoteFile(source, files[0]), client)
    else:
        files = find_released(source)
    nothing: dict[str, Any] = dict.fromkeys(("wikidata", "wikidata_source", "wikidata_form", "wikidata_date"))
    listed = [{"path": str(file), "sha256": hash_contents(file)} for file in files]
    return {"source": source, "wikipedia": [], "page_props": [], **nothing, "released": listed}


def released_files(dumps: Mapping[str, Any]) -> list[Path]:
    """Return the files of released pairs, if they were located in place of dumps."""
    return [Path(file["path"]).absolute() for file in dumps.get("released", ())]


def _make_sample(options: AcquireOptions) -> SampleFiles:
    """Write the sample wiki, or reuse a complete one."""
    return write_sample(options.sample_folder, SAMPLE_LANGUAGES, options.sample)


def sample_file(address: str, names: Sequence[str], kind: str, options: AcquireOptions) -> Path:
    """Return the sample's file that an address such as `sample:nli` names."""
    name = address.removeprefix(SAMPLE)
    if name not in names:
        known = ", ".join(f"{SAMPLE}{known}" for known in names)
        raise EaseError(f"`path` {address}: the sample has the {kind} {known}.")
    return Path(getattr(_make_sample(options), name))
