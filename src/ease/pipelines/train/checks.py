"""Checks before a training run: its parameters, starting encoder and texts, and the sets that choose its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.encoders.check import check_encoder_contents, check_encoder_files
from ease.errors import EaseError
from ease.evaluation.tasks.base import error_prefix
from ease.io.locks import check_unlocked
from ease.io.versions import provenance_of
from ease.methods import UNTRAINED
from ease.options import dotted
from ease.pipelines.acquire_evaluation.checks import check_development_sets
from ease.pipelines.checks import Catalog, PlannedRun, checks_of
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting, preparation_of
from ease.pipelines.tracked_training import missing_start
from ease.pipelines.train.nodes import gather_method_texts, train_encoder, train_whitening
from ease.pipelines.work import lock_for_run


def check_recipe(node: Node, run: PlannedRun) -> None:
    """Refuse wrong options of a method."""
    recipe = run.options(node, Recipe)
    # Defaults are right, so a method without options is imported last, to see whether it can be.
    check_slowly = run.check_last
    if any(value is not None for value in recipe.options.values()):
        check_slowly = run.check_later
    check_slowly(_check_method, recipe, run.options(node, Setting))


def _check_method(recipe: Recipe, setting: Setting) -> None:
    with error_prefix(f"Parameter `{setting.name}.{recipe.method}`"):
        recipe.check_options()


def check_work(node: Node, run: PlannedRun) -> None:
    """Refuse a training run that another process is executing, before other nodes work for hours."""
    check_unlocked(_work_folder(node, run))


def lock_trainings(pipeline: Pipeline, catalog: Catalog) -> None:
    """Lock the work folders of a run's trainings from its beginning, so that a second run is refused at its own."""
    run = PlannedRun(pipeline, catalog, 0, ())
    for node in pipeline.nodes:
        if check_work in checks_of(node):
            lock_for_run(_work_folder(node, run))


def _work_folder(node: Node, run: PlannedRun) -> Path:
    return Path(run.parameter("work")) / f"{run.options(node, Setting).name}.{run.options(node, Recipe).method}"


def check_texts(node: Node, run: PlannedRun) -> None:
    """Refuse training texts that do not exist."""
    run.options(node, Recipe).check_texts()


def check_training(node: Node, run: PlannedRun) -> None:
    """Refuse an anchor, a teacher or a guide that cannot be loaded, and missing development sets."""
    recipe = run.options(node, Recipe)
    if anchor := recipe.options.get("anchor"):
        run.check_encoder(anchor, transformer=True)
    run.check(recipe.check_frozen, check_encoder_files)
    run.check_last(recipe.check_frozen, check_encoder_contents)
    check_development_sets(node, run, run.options(node, Setting).dev_tasks)


def check_start(node: Node, run: PlannedRun) -> None:
    """Refuse a starting encoder that is missing, or was built from other languages or another encoder."""
    setting = run.options(node, Setting)
    method = str(node.namespace).rpartition(".")[2]
    mlm = f"{setting.name}.{MLM}.encoder"
    if setting.start == MLM and method != MLM and not (mlm in node.inputs and run.has(mlm)):
        raise EaseError(missing_start(setting, method))
    start = f"{setting.name}.{UNTRAINED}.encoder"
    dataset: Any = run.catalog.get(start)
    if start in run.outputs or not dataset.exists():
        return
    provenance = provenance_of(dataset.folder_of(dataset.resolve_load_version()))
    earlier = dotted(provenance.get("parameters", {}).get(f"params:{setting.name}.setting", {}))
    for name, value in dotted(setting.model_dump(mode="json", include={"languages", "encoder"})).items():
        if name in earlier and earlier[name] != value:
            raise EaseError(
                f"`{setting.name}.setting.{name}` is {value!r}, but `{start}` was built with {earlier[name]!r}, "
                f"and the training run would start from it: first run {preparation_of(setting.name)} with the same "
                "`--params`."
            )


CHECKS = {
    gather_method_texts: [check_recipe, check_texts],
    train_encoder: [check_work, check_start, check_recipe, check_training],
    train_whitening: [check_start],
}
