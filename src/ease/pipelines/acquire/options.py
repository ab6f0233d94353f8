"""Options of `acquire`: the sources of the dumps."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ease.io.downloads import ConnectionOptions, DownloadOptions
from ease.sample import SampleOptions
from ease.wikimedia.dumps.files import WikidataForm
from ease.wikimedia.dumps.mirrors import LATEST, LayoutName, MirrorOptions

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
    dump_kind: Literal["multistream", "plain"] = Field(
        "multistream", description="kind of the wikis' articles dumps"
    )
    wikidata_packing: Literal["bz2", "gz"] = Field(
        "bz2",
        description="compression of Wikidata's dump; gz is 1.5 times as large and decompresses ten times as fast",
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
            kind=self.dump_kind,
            page_props=self.wikidata_titles == "page_props",
            wikidata_form=self.wikidata_types,
            packing=self.wikidata_packing,
            download=self.download,
        )

    @property
    def download(self) -> DownloadOptions:
        """How files are downloaded."""
        return DownloadOptions(connections=self.connections, contact=self.contact)
