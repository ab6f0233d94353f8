"""docs/papers.md: every table and figure of the papers has a command or a reason, and every file an address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

import pytest
from kedro.io import CatalogProtocol

from ease.pipeline_registry import SWEEPS
from ease.pipelines.checks import find_faults
from ease.pipelines.evaluate import EvaluateOptions
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.variants import Sweep
from ease.reporting.own import OwnModel, gather_models
from ease.reporting.published import Source
from tests.contexts import all_pipelines, load_catalog, load_parameters
from tests.project import ROOT, Project
from tests.reporting.made import published

DOCUMENT = "papers.md"
NONE = "—"
TEXTS = "data/01_raw/texts/"

CONTENTS = {
    "EASE": ("ease", 15, 3),
    "Mirror-BERT": ("mirror_bert", 22, 8),
    "DuEAM": ("dueam", 16, 3),
    "mSimCSE": ("msimcse", 8, 2),
}
"""Each paper's section: its file of published figures, its number of tables and its number of figures."""


class Experiment(NamedTuple):
    """A row of a paper's table in the document, with its tables and figures: `Table 1`, `Figure 2`."""

    pipeline: str
    numbers: set[str]
    hours: str
    differs: str


def section(title: str) -> str:
    text = (ROOT / "docs" / DOCUMENT).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return str(found)


def cells_of(text: str) -> list[list[str]]:
    """Return the cells of the rows of a text's tables, headers included."""
    return [
        re.split(r"\s*\|\s*", line.removeprefix("| ").removesuffix(" |"))
        for line in text.splitlines()
        if line.startswith("| ")
    ]


def experiments(title: str) -> list[Experiment]:
    (table,) = re.findall(r"^\| pipeline \|.*\n(?:\|.*\n)+", section(title), re.MULTILINE)
    _, *rows = cells_of(table)
    found = []
    for pipeline, shows, hours, differs in rows:  # `Tables 1, 3 to 5, Figure 2` are five
        numbers = {
            f"{kind} {number}"
            for kind, listed in re.findall(r"(Table|Figure)s? (\d[\dab, to]*)", shows)
            for first, last in re.findall(r"(\d+[ab]?)(?: to (\d+))?", listed)
            for number in (range(int(first), int(last) + 1) if last else [first])
        }
        found.append(Experiment(pipeline.strip("`"), numbers, hours, differs))
    return found


@pytest.mark.parametrize("title", CONTENTS)
def test_every_table_and_figure_has_a_registered_pipeline_with_hours_or_a_reason(title: str) -> None:
    name, tables, figures = CONTENTS[title]
    rows, registered = experiments(title), all_pipelines()
    found = {re.sub(r"(?<=\d)[ab]$", "", number) for row in rows for number in row.numbers}
    wanted = {f"Table {number}" for number in range(1, tables + 1)}
    assert found == wanted | {f"Figure {number}" for number in range(1, figures + 1)}
    for row in rows:
        assert row.differs, f"{row.pipeline}: say what differs, or `nothing`"
        if row.pipeline == NONE:
            assert (row.hours, row.differs != "nothing") == ("", True), row
        else:
            assert row.pipeline in registered, row
            assert re.fullmatch(r"[\d.]+", row.hours), row
    made = {number for row in rows if row.pipeline != NONE for number in row.numbers}
    printed = published().root[name].tables
    assert {f"Table {number}" if number[0].isdigit() else number for number in printed} <= made


@pytest.fixture(scope="module")
def parameters(bare: Project) -> dict[str, Any]:
    """The papers' parameters as configured."""
    return load_parameters(bare, "paper")


class Scored(NamedTuple):
    """A variant of a sweep, joined encoders or a baseline, and the tasks that score it."""

    model: OwnModel
    tasks: tuple[str, ...]

    def has(self, source: Source) -> bool:
        """Whether a task is the score's, complete or with its subset."""
        return any(task in (source.task, f"{source.task}:{source.subset}") for task in self.tasks)


@cache
def own_model(setting: str, method: str, base: str, pooling: str) -> OwnModel:
    (model,) = gather_models([{"setting": setting, "method": method, "base": base, "pooling": pooling}])
    return model


def scored_models(parameters: dict[str, Any]) -> Iterator[Scored]:
    """Yield all variants of the sweeps, the encoders that these join, and all baselines."""
    for name, registered in SWEEPS.items():
        sweep = Sweep.model_validate(parameters[name])
        setting = sweep.own_setting(Setting.model_validate(parameters[registered.setting]["setting"]))
        for variant in sweep.all_variants():
            own = sweep.varied_setting(setting, variant)
            model = own_model(setting.name, variant.title, own.encoder.name, own.encoder.pooling or "")
            yield Scored(model, (*own.test_tasks, *own.dev_tasks))
        for title, joined in sweep.joined.items():
            yield Scored(own_model(setting.name, title, joined.base, ""), tuple(joined.tasks))
    evaluate = EvaluateOptions.model_validate(parameters["evaluate"])
    for name, baseline in evaluate.baselines.items():
        (model,) = gather_models([baseline.about(name)])
        yield Scored(model, baseline.tasks or ())


FITTED = "whitening"
"""A method of `train` that no sweep varies."""


def test_every_printed_figure_of_a_model_that_can_be_made_has_an_own_score(parameters: dict[str, Any]) -> None:
    models = list(scored_models(parameters))
    for name, paper in published().root.items():
        for number, table in paper.tables.items():
            for row, figures in table.rows.items():
                printed = paper.models[row]
                if printed.method in (None, FITTED) and not printed.checkpoints:
                    continue
                like = [one for one in models if one.model.is_like(printed)]
                for column, figure in zip(table.columns, figures, strict=True):
                    for source in paper.sources(number, column.header) if figure is not None else ():
                        assert any(one.has(source) for one in like), (name, number, row, source)


WITHOUT_FILES = re.compile(
    r"does not exist: (put the texts there|set the source to)|^The development task '\w+' lacks|"
    r"^There are no data of|^Encoder '[^']+' does not load: .*HF_HUB_OFFLINE is set|"
    r"^The sweep '\w+' reads the [a-z ]+ of '\w+', and there are none yet"
)
"""Faults of a project that has the configuration, but none of the files to train and score on."""


@pytest.fixture(scope="module")
def catalog(bare: Project) -> CatalogProtocol[Any, Any]:
    """The papers' catalog with its parameters."""
    return load_catalog(bare, "paper")


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_at_paper_scale_lacks_nothing_but_files(
    bare: Project, catalog: CatalogProtocol[Any, Any], name: str
) -> None:
    faults = find_faults(all_pipelines()[name], catalog, bare.folder / "data", 0)
    assert faults, "the project has no evaluation sets"
    assert [fault for fault in faults if not WITHOUT_FILES.search(fault)] == []


def places(value: Any) -> Iterator[str]:
    """Yield the paths of training texts in nested parameters."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from places(inner)
    elif isinstance(value, str) and TEXTS in value:
        yield value.partition(TEXTS)[2]


def test_every_place_of_training_texts_and_every_documented_file_has_an_address(parameters: dict[str, Any]) -> None:
    _, *listed = cells_of(section("Files"))
    files = {name.strip("`"): address for names, address, _ in listed for name in names.split(", ")}
    assert {name for name, address in files.items() if "https://" not in address} == set()
    texts = {name.removeprefix("texts/") for name in files if name.startswith("texts/")}
    named = {place for key, value in parameters.items() if key[0] != "_" for place in places(value)}
    assert {"wiki1m_for_simcse.txt", "XNLI-MT-1.0/multinli"} <= named
    assert {place for place in named if not any(fnmatchcase(place, pattern) for pattern in texts)} == set()
    assert {pattern for pattern in texts if not any(fnmatchcase(place, pattern) for place in named)} == set()
