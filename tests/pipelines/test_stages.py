"""Namespaces: the boxes of Kedro-Viz and the selections of `--namespaces`."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline

from ease.pipeline_registry import LOW_RESOURCE, SETTINGS, SWEEPS, register_pipelines
from tests.project import make_project, params

PIPELINES = register_pipelines()
STAGES = {"acquire", "ingest", "entity_pairs", "hard_negatives", "entity_embeddings"}
"""The stages before the first training."""
COMPARED = {"untrained", "simcse", "ease", "ease_plus"}


def namespaces(name: str) -> set[str | None]:
    """Return the namespaces of a pipeline's nodes."""
    return {node.namespace for node in PIPELINES[name].nodes}


def test_the_default_pipeline_shows_its_stages_and_methods_first() -> None:
    assert namespaces("__default__") == {*STAGES, *COMPARED, "report"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_stages_of_a_setting_are_below_it(setting: str) -> None:
    expected = {f"{setting}.{stage}" for stage in (*STAGES, *COMPARED, "report")}
    assert namespaces(f"train_{setting}") == expected


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_is_a_stage_after_those_that_make_its_data(name: str) -> None:
    setting = SWEEPS[name].setting
    before = (*STAGES, "untrained") if SWEEPS[name].entities else ()
    assert namespaces(name) == {f"{setting}.{stage}" for stage in (*before, "sweep")}
    sweep = PIPELINES[name].only_nodes_with_namespaces([f"{setting}.sweep"])
    assert f"{setting}.{name}_sweep" in sweep.outputs()


@pytest.mark.parametrize(
    "name", ["__default__", *(f"train_{name}" for name in (*SETTINGS, LOW_RESOURCE)), *SWEEPS]
)
def test_a_complete_job_makes_every_dataset_that_it_reads(name: str) -> None:
    kept = () if name not in SWEEPS or SWEEPS[name].entities else ("sentences", "training_pairs", "dumps")
    read = {given for given in PIPELINES[name].inputs() if not is_parameter(given)}
    # Only runs with `without_audit` need the pages, which `audit` makes; for others they may be missing.
    read = {given for given in read if not given.endswith(".audit_pages")}
    assert read == {f"{SWEEPS[name].setting}.kept_{dataset}" for dataset in kept}


@pytest.mark.parametrize(
    ("pipelines", "chosen", "expected"),
    [
        (("train", "evaluate"), "multilingual.ease", {"train_encoder", "score_encoder"}),
        (("train", "evaluate"), "multilingual.simcse", {"gather_texts", "train_encoder", "score_encoder"}),
        (("train", "evaluate"), "multilingual.whitening", {"whiten_encoder", "score_encoder"}),
        (("train_multilingual",), "multilingual.untrained", {"build_encoder", "score_encoder"}),
        (("train_multilingual",), "multilingual.ease", {"train_encoder", "score_encoder"}),
        (("__default__",), "multilingual.ease", {"train_encoder", "score_encoder"}),
        (("__default__",), "ease", {"train_encoder", "score_encoder"}),
        (("distill",), "multilingual.static_student", {"distill_encoder", "score_encoder"}),
        (("evaluate",), "monolingual.shallow_student", {"score_encoder"}),
        (("evaluate",), "baselines", {"locate_baseline_sets", "score_baselines"}),
        (("acquire_evaluation",), "monolingual", {"locate_evaluation_sets"}),
        (("train_monolingual",), "monolingual.acquire", {"locate_dumps", "locate_evaluation_sets"}),
    ],
)
def test_a_namespace_selects_a_method_a_stage_or_a_setting(
    pipelines: tuple[str, ...], chosen: str, expected: set[str]
) -> None:
    nodes = [
        node for name in pipelines for node in PIPELINES[name].only_nodes_with_namespaces([chosen]).nodes
    ]
    assert {node.name.rpartition(".")[2] for node in nodes} == expected


def test_a_settings_namespace_selects_all_of_it() -> None:
    complete = PIPELINES["train_monolingual"]
    assert set(complete.only_nodes_with_namespaces(["monolingual"]).nodes) == set(complete.nodes)


@pytest.mark.parametrize("chosen", ["multilingual.ease.score_encoder", "ease.score_encoder"])
@pytest.mark.parametrize("option", ["node_names", "from_nodes", "to_nodes"])
def test_the_default_pipeline_finds_nodes_by_both_names(option: str, chosen: str) -> None:
    # Kedro adds the pipelines of a run to an empty one.
    found: list[str] = [
        node.name for node in (Pipeline([]) + PIPELINES["__default__"]).filter(**{option: [chosen]}).nodes
    ]  # type: ignore[arg-type]
    assert "ease.score_encoder" in found


def test_the_default_pipeline_has_the_nodes_of_the_settings_pipeline() -> None:
    default, main = (
        {(str(node), frozenset(node.tags)) for node in PIPELINES[name].nodes}
        for name in ("__default__", "train_multilingual")
    )
    assert default == main
    assert set(PIPELINES["__default__"].only_nodes_with_namespaces(["multilingual"]).nodes) == set(
        PIPELINES["__default__"].nodes
    )


@pytest.mark.slow
def test_the_default_run_chooses_a_stage_by_its_complete_namespace(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.kedro("run", "--namespaces=multilingual.acquire", "--params", params(), start=False)
    assert project.json("01_raw/multilingual/dumps.json")["source"] == "sample:"


def test_registering_the_pipelines_raises_no_warning_of_interrupted_namespaces() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Namespace .* is interrupted")
        register_pipelines()
