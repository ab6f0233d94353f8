"""Where the dumps come from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ease.io.downloads import DownloadOptions
from ease.sample import SampleOptions
from ease.wikimedia.dumps.mirrors import LATEST, MirrorOptions
from ease.wikimedia.dumps.wikidata_files import WikidataForm

_DATE = rf"^(\d{{8}}|{LATEST})$"


class AcquireOptions(BaseModel):
    """Where the dumps come from, and where those that are fetched or made are put."""

    # A date is a number in YAML.
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

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
        description="what tells the items of titles: Wikidata's JSON dump, or the wikis' own page_props tables, which "
        "lie beside their dumps",
    )
    wikidata_types: WikidataForm = Field(
        "json", description="what tells the items' types: Wikidata's JSON dump, or its truthy statements"
    )
    sample_folder: Path = Field(description="where the sample wiki is written")
    sample: SampleOptions = Field(description="size and seed of the sample wiki")
    download_folder: Path = Field(description="where dumps are put that a mirror has")
    dump_date: str = Field(
        LATEST, pattern=_DATE, description="YYYYMMDD, or `latest` for the newest finished one"
    )
    wikidata_date: str = Field(LATEST, pattern=_DATE, description="the same for Wikidata, whose dates differ")
    dump_kind: Literal["multistream", "plain"] = Field(
        "multistream", description="of the wikis' dumps; multistream is read in parallel"
    )
    wikidata_packing: Literal["bz2", "gz"] = Field(
        "bz2", description="of Wikidata's dump; gz is half as large again and unpacks ten times as fast"
    )
    connections: int = Field(
        2, ge=1, le=8, description="files fetched at once; Wikimedia asks for two at most"
    )
    contact: str | None = Field(
        None, description="an e-mail or web address, told to mirrors: Wikimedia refuses anonymous programs"
    )

    @model_validator(mode="after")
    def _check_wikidata(self) -> Self:
        if self.wikidata_titles == "json" and self.wikidata_types == "truthy":
            raise ValueError(
                "`wikidata_types: truthy` goes with `wikidata_titles: page_props`: the JSON dump that tells the titles "
                "tells the types, too"
            )
        return self

    def mirror(self, wikidata: bool = False) -> MirrorOptions:
        """Which dumps of a mirror to fetch."""
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
        """How to ask servers for files."""
        return DownloadOptions(connections=self.connections, contact=self.contact)
