"""A project that runs the paper's configuration on small inputs, by documented commands and `--params`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ease.encoders.check import is_vector_file
from tests.contexts import load_parameters
from tests.project import METHODS, SWEEPS, Project, make_project
from tests.rehearsal.made_hub import add_encoder, write_encoder
from tests.rehearsal.made_inputs import (
    SAMPLE,
    read_sentences,
    write_dumps,
    write_evaluation_sets,
    write_texts,
    write_vectors,
)

FURTHER_ENCODERS = ("roberta-base", "xlm-roberta-base")
"""Encoders that the variations name, beside those of the settings, the sweeps and the baselines."""

FEW_STEPS = {"max_steps": 3, "batch_size": 8, "evaluate_every": 2, "checkpoint_seconds": 0, "report_every": 1}
FEW_ROWS = 40
"""Training texts of variants that draw a number of them."""
MOST = "_msimcse_most"
"""The numbers of parallel sentences that are more than the made files have."""
SETTINGS = ("multilingual", "monolingual", "low_resource")
SMALL: dict[str, Any] = {
    "multilingual.setting.languages": "en ja ar de",
    "low_resource.setting.languages": "en ca eo",
    "low_resource.setting.test_tasks": "tatoeba:cat-eng tatoeba:epo-eng",
    "entity_embeddings.source": "random",
    "mewsc16.min_class_size": 2,
    "publish.to": "data/02_intermediate/published",
    "audit.min_pairs": 2,
    "mine_bitext.min_score": 1.0,  # an encoder of a few steps gives small margins
    "teach.language": "eo",
    "teach.companions": "en ca",
    "teach.vocabulary.min_link_count": 2,
    "teach.pairs.min_pairs_per_language": 2,
    **{f"teach.ease_plus.training.{name}": value for name, value in FEW_STEPS.items()},
    "tasks.senteval.folds": 3,
    "multilingual.analysis.language_pair.sentences": 30,
    "tasks.pawsx_finetuned.epochs": 1,
    # `companions` is scored on the sample.
    **{f"acquire.sample.{name}": value for name, value in SAMPLE.items()},
    "tasks.sample_parallel.candidates": 15,
    **{f"{setting}.vocabulary.min_link_count": 2 for setting in SETTINGS},
    **{
        f"{setting}.{method}.training.{name}": value
        for setting in SETTINGS
        for method in (METHODS if setting != "low_resource" else ("ease", "mlm"))
        for name, value in FEW_STEPS.items()
    },
}
"""Few languages, steps and rows; everything else as in `conf/paper`."""

FEW_TASKS = {"multilingual": "sts17 tatoeba", "monolingual": "stsb:test stc"}
"""The test tasks of sweeps that have none of their own."""


def make_rehearsed(folder: Path, test_data: Path) -> Project:
    """Make a project with all inputs, and beside it the folder `hub`, to be named by HF_HUB_CACHE."""
    project = make_project(folder / "project")
    shorten_sweeps(project.folder / "conf")
    raw, sentences = project.folder / "data" / "01_raw", read_sentences(test_data / "eval")
    write_dumps(raw)
    write_evaluation_sets(raw / "evaluation", test_data / "eval")
    write_texts(raw / "texts", test_data / "train", sentences)
    for name in configured_encoders(project):
        if not name.startswith("data/"):
            add_encoder(folder / "hub", name, sentences)
        elif is_vector_file(name):
            write_vectors(project.folder / name, sentences)
        else:
            write_encoder(project.folder / name, name, sentences)
    return project


def configured_encoders(project: Project) -> list[str]:
    """Return the hub names, folders and files of word vectors of the encoders in `conf/paper`."""
    parameters = load_parameters(project, "paper")
    of_settings = named_encoders({name: parameters[name] for name in (*SETTINGS, "sweeps")})
    baselines = (baseline["name"] for baseline in parameters["evaluate"]["baselines"].values())
    names = {*of_settings, *FURTHER_ENCODERS, *baselines}
    return sorted(name for name in names if not name.endswith(":"))


def named_encoders(given: Any) -> Iterator[str]:
    """Yield the names of encoders in nested parameters: of groups `encoder`, or these groups' names alone."""
    if isinstance(given, dict):
        for name, value in given.items():
            if name == "encoder" and isinstance(value, str):
                yield value
            elif name == "encoder" and isinstance(value, dict) and "name" in value:
                yield str(value["name"])
            else:
                yield from named_encoders(value)
    elif isinstance(given, list):
        for value in given:
            yield from named_encoders(value)


def shorten_sweeps(conf: Path) -> None:
    """Keep one seed of each variant, the first and last of the values of each parameter of a grid, small batches."""
    for file in conf.glob("*/parameters/sweeps/*.yml"):
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
        for sweep in given["sweeps"].values():
            sweep["seeds"] = [1]
            for variant in sweep.get("variants", ()):
                shorten_variant(variant)
            for grid in sweep.get("grids", ()):
                shorten_grid(grid)
        if MOST in given:
            given[MOST] = dict.fromkeys(given[MOST], FEW_ROWS)
        file.write_text(yaml.safe_dump(given), encoding="utf-8")


def shorten_variant(variant: dict[str, Any]) -> None:
    """Leave a variant the sweep's seed, small batches and few rows."""
    variant.pop("seeds", None)
    if "batch_size" in variant.get("training", {}):
        variant["training"]["batch_size"] = FEW_STEPS["batch_size"]
    if "rows" in variant or "data" in variant:
        variant["rows"] = FEW_ROWS


def shorten_grid(grid: dict[str, Any]) -> None:
    """Leave a grid the ends of its lists, small batches and few rows."""
    grid.pop("seeds", None)
    if "rows" in grid:
        grid["rows"] = [FEW_ROWS // 2, FEW_ROWS]
    for values in (grid.get("options", {}), grid.get("training", {})):
        values.update({name: [own[0], own[-1]] for name, own in values.items() if len(own) > 2})
    if "batch_size" in grid.get("training", {}):
        grid["training"]["batch_size"] = [FEW_STEPS["batch_size"], 2 * FEW_STEPS["batch_size"]]


@cache
def few_tasks(project: Project) -> dict[str, str]:
    """Return few test tasks for each sweep that has none of its own."""
    parameters = load_parameters(project, "paper")
    return {
        f"sweeps.{name}.setting.test_tasks": FEW_TASKS[setting]
        for name, setting in SWEEPS.items()
        if setting in FEW_TASKS and "test_tasks" not in parameters["sweeps"][name]["setting"]
    }


def rehearse(project: Project, pipelines: str, *arguments: str, start: bool = True, **given: Any) -> None:
    """Run pipelines in the environment `paper` with the small parameters and others, with `__` in place of dots."""
    values = {**SMALL, **few_tasks(project), **{name.replace("__", "."): value for name, value in given.items()}}
    params = ",".join(f"{name}={value}" for name, value in values.items())
    flags = ("run", "--env=paper", f"--pipelines={pipelines}", "--params", params, *arguments)
    done = project.kedro(*flags, start=start)
    assert "Traceback" not in done.stderr
