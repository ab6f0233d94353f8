"""Locate or download the dumps; generate the sample wiki if the source is `sample:`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.io.addresses import address_of
from ease.pipelines.options import SAMPLE, AcquireOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps.files import DumpFile, dump_date, find_dumps, find_wikidata, table_folders
from ease.wikimedia.dumps.mirrors import fetch_dumps, fetch_wikidata, is_mirror
from ease.wikimedia.wikidata import find_page_props

logger = logging.getLogger(__name__)


def locate_dumps(options: AcquireOptions, setting: Setting) -> dict[str, Any]:
    """List the dump files of the setting's languages, their page_props and the Wikidata dump, with their dates.

    Missing files of a mirror are downloaded.
    """
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
    source = str(options.write_sample().wikipedia) if options.wikipedia == SAMPLE else options.wikipedia
    dumps = find_dumps(source, setting.languages)
    return dumps, table_folders(source, dumps)


def _wikidata(source: str, options: AcquireOptions) -> str | Path:
    """Return the local or remote address of Wikidata's dump; make the sample's, or download a mirror's."""
    if source == SAMPLE:
        sample = options.write_sample()
        return sample.truthy if options.wikidata_types == "truthy" else sample.wikidata
    return fetch_wikidata(source, options.mirror(options.wikidata_date)) if is_mirror(source) else source
