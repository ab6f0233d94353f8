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
from ease.wikimedia.dumps.mirrors import LATEST, fetch_dumps, fetch_wikidata, is_mirror
from ease.wikimedia.titles_file import check_titles_file
from ease.wikimedia.wikidata import find_page_props

logger = logging.getLogger(__name__)


def locate_dumps(options: AcquireOptions, setting: Setting) -> dict[str, Any]:
    """Return the dump files of the setting's languages, their page_props and the Wikidata dump, with their dates.

    Missing files of a mirror are downloaded.
    """
    titles = None
    if options.titles is not None:
        check_titles_file(options.titles, setting.languages)
        titles = str(options.titles.absolute())
        # The table's items may have no number on Wikidata, by which a dump could name their types.
        options = options.model_copy(update={"wikidata": None, "wikidata_titles": "json"})
        logger.info("%s names the items of pages: neither Wikidata nor page_props tables are read", options.titles)
    reads_page_props = options.wikidata_titles == "page_props"
    if not options.wikidata and not reads_page_props and titles is None and len(setting.languages) > 1:
        raise EaseError(
            f"`acquire.wikidata` is null, but `{setting.name}` has {len(setting.languages)} languages: only Wikidata "
            "identifies the same entity across them. Give a Wikidata JSON dump, set `wikidata_titles` to "
            "page_props, give a table of titles (`acquire.titles`), or give one language."
        )
    dumps, table_places = _locate_wikipedia(options, setting)
    dates = {dump.language: dump.dump_date for dump in dumps}
    distinct_dates = ", ".join(sorted({date or "unknown" for date in dates.values()}))
    logger.info("%d dumps of %s, dated %s", len(dumps), ", ".join(setting.languages), distinct_dates)
    page_props = []
    if reads_page_props:
        page_props = find_page_props(table_places, dates)
    return {
        "source": options.wikipedia,
        "wikidata_source": options.wikidata,
        "wikipedia": [dump.as_json() for dump in dumps],
        "page_props": [table.as_json() for table in page_props],
        "titles": titles,
        **_describe_wikidata(options),
    }


def _locate_wikipedia(options: AcquireOptions, setting: Setting) -> tuple[list[DumpFile], list[Path]]:
    """Return the wikis' dumps, and places of their page_props tables; make the sample's, or download a mirror's."""
    if not is_mirror(options.wikipedia) and options.dump_date != LATEST:
        logger.warning(
            "`acquire.dump_date` %s has no effect: it chooses among a mirror's dumps, and of several in %s the newest "
            "is read. Name the file to read an older one.",
            options.dump_date,
            options.wikipedia,
        )
    if is_mirror(options.wikipedia):
        mirrored = fetch_dumps(options.wikipedia, setting.languages, options.mirror())
        files = [path for paths in mirrored.pages.values() for path in paths]
        return find_dumps(files, setting.languages), list(mirrored.tables.values())
    source = options.wikipedia
    if source == SAMPLE:
        source = str(options.write_sample().wikipedia)
    dumps = find_dumps(source, setting.languages)
    return dumps, table_folders(source, dumps)


def _describe_wikidata(options: AcquireOptions) -> dict[str, str | None]:
    """Return the address, the form and the date of Wikidata's dump; nulls without one."""
    if not options.wikidata:
        return {"wikidata": None, "wikidata_form": None, "wikidata_date": None}
    file = find_wikidata(_locate_wikidata(options.wikidata, options), options.wikidata_types)
    return {
        "wikidata": address_of(file),
        "wikidata_form": options.wikidata_types,
        "wikidata_date": dump_date(file),
    }


def _locate_wikidata(source: str, options: AcquireOptions) -> str | Path:
    """Return the local or remote address of Wikidata's dump; make the sample's, or download a mirror's."""
    if source == SAMPLE and options.wikidata_types == "truthy":
        return options.write_sample().truthy
    if source == SAMPLE:
        return options.write_sample().wikidata
    if is_mirror(source):
        return fetch_wikidata(source, options.mirror(options.wikidata_date))
    return source
