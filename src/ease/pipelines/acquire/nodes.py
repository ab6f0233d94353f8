"""Nodes of `acquire`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ease.errors import EaseError
from ease.languages import PAPER_LANGUAGES
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps import dump_date, find_dumps
from ease.wikimedia.sample import SampleFiles, SampleOptions, write_sample
from ease.wikimedia.wikidata import find_wikidata

logger = logging.getLogger(__name__)

SAMPLE = "sample:"


class AcquireOptions(BaseModel):
    """Where the dumps come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wikipedia: str = Field(description="`sample:`, or a folder, a glob or a file of Wikipedia dumps")
    wikidata: str | None = Field(
        description="`sample:`, a file or folder of a Wikidata JSON dump, or null for none"
    )
    sample_folder: Path = Field(description="where the sample wiki is written")
    sample: SampleOptions = Field(description="size and seed of the sample wiki")


def make_sample(options: AcquireOptions) -> SampleFiles:
    """Write the sample wiki, or reuse it where it already lies there whole."""
    return write_sample(options.sample_folder, PAPER_LANGUAGES, options.sample)


def locate_dumps(options: AcquireOptions, setting: Setting) -> dict[str, Any]:
    """List the dump files of the setting's languages, and the Wikidata dump, with their dates.

    Raises:
        EaseError: If a source does not exist or lacks a language, or several languages have no Wikidata dump.
    """
    wikipedia, wikidata = options.wikipedia, options.wikidata
    if SAMPLE in (wikipedia, wikidata):
        sample = make_sample(options)
        wikipedia = str(sample.wikipedia) if wikipedia == SAMPLE else wikipedia
        wikidata = str(sample.wikidata) if wikidata == SAMPLE else wikidata
    if not wikidata and len(setting.languages) > 1:
        raise EaseError(
            f"`acquire.wikidata` is null, but `{setting.name}` has {len(setting.languages)} languages: only Wikidata "
            "tells which entities are the same across them. Give a Wikidata JSON dump, or one language."
        )
    dumps = find_dumps(wikipedia, setting.languages)
    dates = sorted({dump.dump_date or "unknown" for dump in dumps})
    logger.info("%d dumps of %s, dated %s", len(dumps), ", ".join(setting.languages), ", ".join(dates))
    wikidata_file = find_wikidata(wikidata) if wikidata else None
    return {
        "source": options.wikipedia,
        "wikidata_source": options.wikidata,
        "wikipedia": [
            {"language": dump.language, "path": str(dump.path), "dump_date": dump.dump_date} for dump in dumps
        ],
        "wikidata": str(wikidata_file) if wikidata_file else None,
        "wikidata_date": dump_date(wikidata_file) if wikidata_file else None,
    }
