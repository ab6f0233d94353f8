"""Nodes of `acquire`."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ease.entities.pairs import PairOptions
from ease.entities.released import find_released
from ease.errors import EaseError
from ease.io.addresses import address_of
from ease.io.downloads import Client, RemoteFile, download
from ease.io.files import hash_contents
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.setting import Setting
from ease.sample import SampleFiles, write_sample
from ease.sample.world import SAMPLE_LANGUAGES
from ease.wikimedia.dumps.files import DumpFile, dump_date, find_dumps, find_wikidata, table_folders
from ease.wikimedia.dumps.mirrors import fetch_dumps, fetch_wikidata, is_mirror
from ease.wikimedia.wikidata import find_page_props

logger = logging.getLogger(__name__)


def locate_dumps(options: AcquireOptions, setting: Setting, pairs: PairOptions) -> dict[str, Any]:
    """List the dump files of the setting's languages, their page_props and the Wikidata dump, with their dates.

    Missing files of a mirror are downloaded. If the options of the pairs name released ones, these are listed instead.
    """
    if pairs.released:
        return locate_released(pairs.released, options)
    own_items = options.wikidata_titles == "page_props"
    if not options.wikidata and not own_items and len(setting.languages) > 1:
        raise EaseError(
            f"`acquire.wikidata` is null, but `{setting.name}` has {len(setting.languages)} languages: only Wikidata "
            "identifies the same entity across them. Give a Wikidata JSON dump, set `wikidata_titles` to "
            "page_props, or give one language."
        )
    dumps, tables = _wikipedia(options, setting)
    dates = sorted({dump.dump_date or "unknown" for dump in dumps})
    logger.info("%d dumps of %s, dated %s", len(dumps), ", ".join(setting.languages), ", ".join(dates))
    page_props = (
        find_page_props(tables, {dump.language: dump.dump_date for dump in dumps}) if own_items else []
    )
    form = options.wikidata_types
    wikidata_file = find_wikidata(_wikidata(options), form) if options.wikidata else None
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
    source = str(make_sample(options).wikipedia) if options.wikipedia == SAMPLE else options.wikipedia
    dumps = find_dumps(source, setting.languages)
    return dumps, table_folders(source, dumps)


def _wikidata(options: AcquireOptions) -> str | Path:
    """Return the local or remote address of Wikidata's dump; make the sample's, or download a mirror's."""
    assert options.wikidata is not None
    if options.wikidata == SAMPLE:
        sample = make_sample(options)
        return sample.truthy if options.wikidata_types == "truthy" else sample.wikidata
    if is_mirror(options.wikidata):
        return fetch_wikidata(options.wikidata, options.mirror(options.wikidata_date))
    return options.wikidata


def has_items(dumps: Mapping[str, Any]) -> bool:
    """Return whether the dumps say which Wikidata item a page has: by a Wikidata dump or page_props tables."""
    return bool(dumps["wikidata"] or dumps["page_props"])


def locate_released(source: str, options: AcquireOptions) -> dict[str, Any]:
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


def make_sample(options: AcquireOptions) -> SampleFiles:
    """Write the sample wiki, or reuse a complete one."""
    return write_sample(options.sample_folder, SAMPLE_LANGUAGES, options.sample)


def sample_file(address: str, names: Sequence[str], kind: str, options: AcquireOptions) -> Path:
    """Return the sample's file that an address such as `sample:nli` names."""
    name = address.removeprefix(SAMPLE)
    if name not in names:
        known = ", ".join(f"{SAMPLE}{known}" for known in names)
        raise EaseError(f"`path` {address}: the sample has the {kind} {known}.")
    return Path(getattr(make_sample(options), name))
