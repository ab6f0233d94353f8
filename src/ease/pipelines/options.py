"""Options that several pipelines read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ease.encoders.options import LoadingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import BASELINES
from ease.evaluation.tasks import ALL_TASKS, TaskParameters
from ease.io.addresses import located
from ease.io.downloads import ConnectionOptions, DownloadOptions
from ease.options import Dimensions, MemorySize, StrictModel, Words
from ease.pipelines.setting import Setting, TaskReferences
from ease.reporting.published import PublishedPapers
from ease.sample.options import SAMPLE_LANGUAGES, SampleOptions
from ease.wikimedia.dumps.files import WikidataForm
from ease.wikimedia.dumps.mirrors import LATEST, LayoutName, MirrorOptions
from ease.wikimedia.dumps.parts import IngestOptions

if TYPE_CHECKING:
    from ease.sample.wiki import SampleFiles

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
    titles: Path | None = Field(
        None,
        description="table of titles of the same items in several languages, in place of Wikidata and page_props: "
        "tab-separated, with language codes as its header",
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
        # The truthy statements have no sitelinks.
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

    def write_sample(self) -> SampleFiles:
        """Write the sample wiki, or reuse a complete one."""
        # Kedro imports this module at every command, and the sample's texts need the parser of wikitext.
        from ease.sample.wiki import write_sample

        return write_sample(self.sample_folder, SAMPLE_LANGUAGES, self.sample)

    def sample_file(self, address: str, names: Sequence[str], kind: str) -> Path:
        """Return the sample's file that an address such as `sample:nli` names."""
        name = address.removeprefix(SAMPLE)
        if name not in names:
            choices = ", ".join(f"{SAMPLE}{choice}" for choice in names)
            raise EaseError(f"`path` {address}: the sample has the {kind} {choices}.")
        return Path(getattr(self.write_sample(), name))


AUDIT = "audit"
"""The task on a test set that is made from the setting's own dumps"""
AUDIT_ADDRESS = "audit:"
"""Beginning of the address of a setting's audit as an evaluation set: `audit:multilingual`"""
AUDIT_SET = "audit_set"
"""The dataset with the files of a setting's audit"""
COUNTRY_NAMES = "country_names"
"""The task on the names of countries, which tells the languages that an encoder knows"""


class EvaluationSetOptions(StrictModel):
    """The folder of evaluation sets, and whether to download missing ones."""

    folder: Path = Field(description="the evaluation folder, to which the tasks' paths are relative")
    audits: Path = Field(
        Path("data/03_primary"),
        description="the folder of the settings' audits; a task's path `audit:SETTING` is the newest one",
    )
    fetch: bool = Field(False, description="download missing sets from their publishers, if their licences allow it")

    def locate(self, address: str) -> Path:
        """Return the path of a task's set; of an audit that has not been made, the folder of its versions."""
        if not address.startswith(AUDIT_ADDRESS):
            return self.folder / address
        versions = self.audits / address.removeprefix(AUDIT_ADDRESS) / AUDIT_SET
        # Versions are times, so the last name is the newest.
        return max(versions.glob(f"*/{AUDIT_SET}"), default=versions)


class Baseline(LoadingOptions):
    """An encoder that is scored without training."""

    name: str = Field(min_length=1, description="a hub name, a folder, or a text file of word vectors")
    tasks: Words | None = Field(None, description="tasks to score it on; null: the test tasks of all settings")
    language_rank: int = Field(
        0,
        ge=0,
        description="rank of the language subspace to remove, fitted on the multilingual setting's training sentences",
    )
    dimensions: Dimensions = Field((), description="numbers of first dimensions to score it at as well")

    @model_validator(mode="after")
    def _one_map(self) -> Baseline:
        if self.language_rank and self.dimension is not None:
            raise EaseError(
                "`dimension` and `language_rank` exclude each other: the language subspace is one of all dimensions. "
                "Remove `dimension`, and score fewer dimensions by `dimensions`."
            )
        return self

    def about(self, name: str) -> dict[str, Any]:
        """Return the columns that describe the encoder in its rows of scores, by its name in the report."""
        return {
            "setting": BASELINES,
            "method": name,
            "model": self.name,
            "base": self.name,
            "pooling": self.pooling or "mean",
        }


class EvaluateOptions(StrictModel):
    """Baselines, and the tasks to score."""

    tasks: TaskReferences | None = Field(
        description="tasks, or single subsets of them (`stsb:test`), or `all`; null: each setting's test tasks"
    )
    baselines: dict[str, Baseline] = Field(description="encoders to score, by their names in the report")
    dimensions: Dimensions = Field(
        (),
        description="numbers of first dimensions to score every encoder at as well; one trained with `matryoshka` is "
        "scored at its own in any case",
    )

    @property
    def named(self) -> tuple[str, ...]:
        """The tasks that `tasks` names one by one."""
        if self.tasks is None or tuple(self.tasks) == (ALL_TASKS,):
            return ()
        return tuple(self.tasks)

    def task_references(self) -> dict[str, tuple[str, ...]]:
        """Return the tasks that each field names; the checks before a run compare them with the parameters `tasks`."""
        of_baselines = {f"baselines.{name}.tasks": baseline.tasks or () for name, baseline in self.baselines.items()}
        return {"tasks": self.named, **of_baselines}

    def references(self, test_tasks: Sequence[str], tasks: TaskParameters) -> tuple[str, ...]:
        """Return the named tasks: `all` means every configured task; without `evaluate.tasks`, return `test_tasks`."""
        if self.tasks is None:
            return tuple(test_tasks)
        return self.named or tuple(sorted(tasks))

    def baseline_references(self, settings: Iterable[Setting], tasks: TaskParameters) -> dict[str, tuple[str, ...]]:
        """Return the tasks of each baseline: `evaluate.tasks`, else its own, else the test tasks of the settings."""
        tests = tuple(dict.fromkeys(task for setting in settings for task in setting.test_tasks))
        return {name: self.references(baseline.tasks or tests, tasks) for name, baseline in self.baselines.items()}


class TextOptions(StrictModel):
    """Limits of gathering training texts."""

    memory_limit: MemorySize = Field("4GB", description="of DuckDB, which spills to disk beyond it")


class CachedIngestOptions(IngestOptions):
    """How dumps are parsed, and the folder of the parsed parts."""

    parts: str = Field(
        description="folder of the parsed parts, which later runs reuse; a path, or an address that fsspec reaches"
    )

    @property
    def folder(self) -> Path:
        """The absolute folder of the parts: a Spark worker has another working directory."""
        return located(self.parts).absolute()


Papers = PublishedPapers | dict[str, Any]
"""The papers' tables, or the catalog's functions that read them, by paper"""
