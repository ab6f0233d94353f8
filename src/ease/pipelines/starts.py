"""Find runs without the encoder that they need: `mlm`'s, from which methods start, or the teacher of students."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from kedro.io import AbstractVersionedDataset, CatalogProtocol
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.io.names import PREPARATION, UNTRAINED
from ease.io.nested import dotted
from ease.pipelines.setting import EASE_PLUS, MLM, Setting
from ease.io.versions import provenance_of
from ease.training.students import StudentOptions

TRAINING = ("train_encoder", "whiten_encoder")
"""Nodes that start from an encoder."""


def find_missing_starts(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return a message for each setting whose methods start from an encoder that this run neither finds nor trains.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
    """
    lacking: dict[str, list[str]] = {}
    complete = set()
    for node in pipeline.nodes:
        setting = _setting(node, catalog)
        method = (node.namespace or "").rpartition(".")[2]
        if setting is None or setting.start != MLM or method == MLM:
            continue
        encoder = f"{setting.name}.{MLM}.encoder"
        if encoder not in node.inputs:
            complete.add(setting.name)
        elif encoder in pipeline.all_outputs() or catalog.exists(encoder):
            continue
        lacking.setdefault(setting.name, []).append(method)
    return [missing_start(name, sorted(methods), name in complete) for name, methods in lacking.items()]


def missing_start(setting: str, methods: Iterable[str], complete: bool = False) -> str:
    """Return the message that there is no encoder to start from, with the commands that train it.

    Args:
        setting: The setting's name.
        methods: Methods that start from the encoder.
        complete: Whether the run is the setting's complete job, which never trains `mlm`.
    """
    chosen = ",".join(f"{setting}.{method}" for method in (MLM, *methods))
    start = f" --params {setting}.setting.start={MLM}"
    prepare = f"make the data by `kedro run --pipelines=train_{setting} --tags={PREPARATION}`, then "
    return (
        f"`{setting}.setting.start` is {MLM}, but this run has no encoder of that method: {prepare if complete else ''}"
        f"train all by `kedro run --pipelines=train,evaluate --namespaces={chosen}{start}`."
    )


def find_stale_starts(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return a message for each setting whose training would start from an encoder that an earlier run built otherwise.

    A run of a single stage or method loads the start that an earlier run saved. Other languages or another encoder in
    `--params` of that run alone would have no effect.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
    """
    stale: dict[str, str] = {}
    for node in pipeline.nodes:
        setting = _setting(node, catalog)
        start = next((name for name in node.inputs if name.endswith(f".{UNTRAINED}.encoder")), None)
        if setting is None or start is None or start in pipeline.all_outputs():
            continue
        built = _parameters_of(start, catalog).get(f"params:{setting.name}.setting", {})
        for field, stages in (("languages", PREPARATION), ("encoder", "entity_embeddings")):
            if built and (
                changed := _first_change(built[field], setting.model_dump(mode="json")[field], field)
            ):
                stale.setdefault(setting.name, stale_start(setting.name, start, changed, stages))
    return list(stale.values())


def stale_start(setting: str, start: str, changed: tuple[str, Any, Any], stages: str) -> str:
    """Return the message that a run has other values than the one that built its start.

    Args:
        setting: The setting's name.
        start: The dataset of the encoder to start from.
        changed: A field, its value then, and its value now.
        stages: Tags of the stages to run again.
    """
    field, then, now = changed
    return (
        f"`{setting}.setting.{field}` is {now!r}, but `{start}` was built with {then!r}, and the training would "
        f"start from it: first run `kedro run --pipelines=train_{setting} --tags={stages}` with the same `--params`."
    )


def _parameters_of(name: str, catalog: CatalogProtocol) -> dict[str, Any]:  # type: ignore[type-arg]
    """Return the parameters that the newest version of a dataset was made with; empty if not recorded."""
    from ease.datasets.files import AtomicSave  # imports Plotly Express

    dataset = catalog.get(name)
    if not isinstance(dataset, AtomicSave) or not isinstance(dataset, AbstractVersionedDataset):
        return {}
    if not dataset.exists():
        return {}
    made_from = provenance_of(dataset.folder_of(dataset.resolve_load_version() or ""))
    return cast(dict[str, Any], made_from.get("parameters", {}))


def _first_change(then: Any, now: Any, field: str) -> tuple[str, Any, Any] | None:
    """Return the first field whose values differ, with both values."""
    old, new = dotted({field: then}), dotted({field: now})
    return next(((name, old.get(name), new[name]) for name in new if old.get(name) != new[name]), None)


def find_missing_teachers(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return a message for each setting whose students have a teacher that this run neither finds nor trains.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
    """

    def named(node: Node) -> bool:
        options = [catalog.load(name) for name in node.inputs if is_parameter(name)]
        return any(isinstance(value, StudentOptions) and value.teacher for value in options)

    return [missing_teacher(setting) for setting in _lacking(pipeline, catalog, "distill_encoder", named)]


def missing_teacher(setting: str) -> str:
    """Return the message that the teacher of a setting's students is missing, with commands that train it."""
    return _missing_encoder(setting, "for the students to learn from", "`teacher` (docs/small_models.md)")


def find_missing_miners(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return a message for each setting whose sentences are mined by an encoder that this run neither finds nor trains.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
    """

    def named(_: Node) -> bool:
        return bool(catalog.load("params:mine_bitext").encoder)

    return [missing_miner(setting) for setting in _lacking(pipeline, catalog, "mine_pairs", named)]


def missing_miner(setting: str) -> str:
    """Return the message that a setting has no encoder to compare sentences by, with commands that train it."""
    return _missing_encoder(setting, "to compare the sentences by", "`mine_bitext.encoder` (docs/bitext.md)")


def _lacking(
    pipeline: Pipeline,
    catalog: CatalogProtocol,  # type: ignore[type-arg]
    step: str,
    named: Callable[[Node], bool],
) -> list[str]:
    """Return the settings whose step has no encoder: none is named, saved or trained by this run."""
    lacking = []
    for node in pipeline.nodes:
        if node.name.rpartition(".")[2] != step or named(node):
            continue
        encoder = next(name for name in node.inputs if name.endswith(".encoder"))
        if encoder not in pipeline.all_outputs() and not catalog.exists(encoder):
            lacking.append(encoder.partition(".")[0])
    return lacking


def _missing_encoder(setting: str, purpose: str, option: str) -> str:
    return (
        f"There is no encoder of `{EASE_PLUS}` {purpose}: make the data by `kedro run --pipelines=train_{setting} "
        f"--tags={PREPARATION}`, then train it by `kedro run --pipelines=train --namespaces={setting}.{EASE_PLUS}`, or "
        f"name another encoder as {option}."
    )


def _setting(node: Node, catalog: CatalogProtocol) -> Setting | None:  # type: ignore[type-arg]
    """Return the setting of a training node; None for other nodes."""
    if node.name.rpartition(".")[2] not in TRAINING:
        return None
    values = (catalog.load(name) for name in node.inputs if is_parameter(name) and name.endswith(".setting"))
    return next((value for value in values if isinstance(value, Setting)), None)
