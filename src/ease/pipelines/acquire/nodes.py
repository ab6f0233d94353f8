"""Nodes of `acquire`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.languages import PAPER_LANGUAGES
from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps import dump_date, find_dumps
from ease.wikimedia.mirrors import fetch_dumps, fetch_wikidata, is_mirror
from ease.wikimedia.sample import SampleFiles, write_sample
from ease.wikimedia.wikidata import find_wikidata

logger = logging.getLogger(__name__)

SAMPLE = "sample:"

__all__ = ["SAMPLE", "AcquireOptions", "locate_dumps", "make_sample"]


def make_sample(options: AcquireOptions) -> SampleFiles:
    """Write the sample wiki, or reuse it where it already lies there whole."""
    return write_sample(options.sample_folder, PAPER_LANGUAGES, options.sample)


def locate_dumps(options: AcquireOptions, setting: Setting) -> dict[str, Any]:
    """List the dump files of the setting's languages, and the Wikidata dump, with their dates.

    What is to come from a mirror and is not there yet is fetched.

    Raises:
        EaseError: If a source does not exist or lacks a language, or several languages have no Wikidata dump, or a
            mirror's files cannot be fetched.
    """
    if not options.wikidata and len(setting.languages) > 1:
        raise EaseError(
            f"`acquire.wikidata` is null, but `{setting.name}` has {len(setting.languages)} languages: only Wikidata "
            "tells which entities are the same across them. Give a Wikidata JSON dump, or one language."
        )
    dumps = find_dumps(_wikipedia(options, setting), setting.languages)
    dates = sorted({dump.dump_date or "unknown" for dump in dumps})
    logger.info("%d dumps of %s, dated %s", len(dumps), ", ".join(setting.languages), ", ".join(dates))
    wikidata_file = find_wikidata(_wikidata(options)) if options.wikidata else None
    return {
        "source": options.wikipedia,
        "wikidata_source": options.wikidata,
        "wikipedia": [
            {"language": dump.language, "path": str(dump.path), "dump_date": dump.dump_date} for dump in dumps
        ],
        "wikidata": str(wikidata_file) if wikidata_file else None,
        "wikidata_date": dump_date(wikidata_file) if wikidata_file else None,
    }


def _wikipedia(options: AcquireOptions, setting: Setting) -> str:
    """Where the wikis' dumps lie on this machine."""
    if options.wikipedia == SAMPLE:
        return str(make_sample(options).wikipedia)
    if is_mirror(options.wikipedia):
        return fetch_dumps(options.wikipedia, setting.languages, options.mirror()).source
    return options.wikipedia


def _wikidata(options: AcquireOptions) -> str | Path:
    """Where Wikidata's dump lies on this machine."""
    assert options.wikidata is not None
    if options.wikidata == SAMPLE:
        return make_sample(options).wikidata
    if is_mirror(options.wikidata):
        return fetch_wikidata(options.wikidata, options.mirror(wikidata=True))
    return options.wikidata
