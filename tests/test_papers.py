"""The papers' environment can make every printed figure: each has a model and a task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
from kedro.framework.context import KedroContext

from ease.hooks.names import Names
from ease.pipelines.checks import find_faults
from ease.pipelines.options import EvaluateOptions
from ease.pipelines.sweep.variants import SweepChoice, Sweeps, open_sweep
from ease.reporting.own import OwnModel, gather_models
from ease.reporting.published import ScoreKey
from tests.contexts import all_pipelines, give, given_context, load_parameters
from tests.project import SWEEPS, Project
from tests.reporting.made import published


@pytest.fixture(scope="module")
def parameters(bare: Project) -> dict[str, Any]:
    """The papers' parameters as configured."""
    return load_parameters(bare, "paper")


class Scored(NamedTuple):
    """A variant of a sweep, joined encoders or a baseline, and the tasks that score it."""

    model: OwnModel
    tasks: tuple[str, ...]

    def has(self, key: ScoreKey) -> bool:
        """Whether a task is the score's, complete or with its subset."""
        return any(task in (key.task, f"{key.task}:{key.subset}") for task in self.tasks)


@cache
def own_model(setting: str, method: str, base: str, pooling: str) -> OwnModel:
    (model,) = gather_models([{"setting": setting, "method": method, "base": base, "pooling": pooling}])
    return model


def scored_models(parameters: dict[str, Any]) -> Iterator[Scored]:
    """Yield all variants of the sweeps, the encoders that these join, and all baselines."""
    sweeps = Sweeps.model_validate(parameters["sweeps"])
    for name, sweep in sweeps.root.items():
        setting = open_sweep(SweepChoice(name=name), sweeps, parameters).setting
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
                    for key in paper.score_keys(number, column.header) if figure is not None else ():
                        assert any(one.has(key) for one in like), (name, number, row, key)


WITHOUT_FILES = re.compile(
    r"does not exist: (put the texts there|set the source to)|^The development task '\w+' lacks|"
    r"^There are no data of|^Encoder '[^']+' does not load: .*HF_HUB_OFFLINE is set|"
    r"^The sweep '\w+' reads the [a-z ,]+ of '\w+', and there are none yet"
)
"""Faults of a project that has the configuration, but none of the files to train and score on."""


@pytest.fixture(scope="module")
def context(bare: Project) -> Iterator[KedroContext]:
    """A context with the papers' parameters."""
    with given_context(bare, "paper") as opened:
        yield opened


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_at_paper_scale_lacks_nothing_but_files(bare: Project, context: KedroContext, name: str) -> None:
    give(context, sweep=name)
    Names().after_context_created(context)
    faults = find_faults(all_pipelines()["sweep"], context.catalog, bare.folder / "data", 0)
    assert faults, "the project has no evaluation sets"
    assert [fault for fault in faults if not WITHOUT_FILES.search(fault)] == []
