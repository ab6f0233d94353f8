"""Options of `acquire`: the sources of the dumps."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from ease.io.downloads import ConnectionOptions, DownloadOptions
from ease.sample import SampleOptions
from ease.wikimedia.dumps.files import WikidataForm
from ease.wikimedia.dumps.mirrors import LATEST, MirrorOptions

SAMPLE = "sample:"
"""Address of the sample wiki; its files are `sample:NAME`."""

_DATE = rf"^(\d{{8}}|{LATEST})$"


class AcquireOptions(ConnectionOptions):
    """The sources of the dumps, and the folders for downloaded and generated dumps."""

    # A date is a number in YAML.
    model_config = ConfigDict(coerce_numbers_to_str=True)

    wikipedia: str = Field(
        description="`sample:`, a mirror's https address, or a folder, a glob or a file of Wikipedia dumps, here "
        "or at an address that fsspec reaches"
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
    dump_date: str = Field(
        LATEST, pattern=_DATE, description="YYYYMMDD, or `latest` for the newest finished one"
    )
    wikidata_date: str = Field(LATEST, pattern=_DATE, description="date of the Wikidata dump, not the wikis'")
    dump_kind: Literal["multistream", "plain"] = Field(
        "multistream", description="kind of the wikis' dumps; multistream is parsed in parallel"
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

    def mirror(self, wikidata: bool = False) -> MirrorOptions:
        """Return which dumps of a mirror to download."""
        return MirrorOptions(
            folder=self.download_folder,
            date=self.wikidata_date if wikidata else self.dump_date,
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
