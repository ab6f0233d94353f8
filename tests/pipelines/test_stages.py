"""Namespaces: stages that Kedro-Viz draws as boxes, and what `--namespaces` selects."""

from __future__ import annotations

import warnings

import pytest
from kedro.io.core import is_parameter

from ease.pipeline_registry import LANGUAGES_SWEEP, LOW_RESOURCE, SETTINGS, SWEEPS, register_pipelines

PIPELINES = register_pipelines()
STAGES = {"acquire", "ingest", "entity_pairs", "hard_negatives", "entity_embeddings"}
"""The stages before the first training."""
COMPARED = {"untrained", "ease", "simcse"}


def namespaces(name: str) -> set[str | None]:
    """The namespaces of a pipeline's nodes."""
    return {node.namespace for node in PIPELINES[name].nodes}


def test_the_default_pipeline_shows_its_stages_and_methods_first() -> None:
    assert namespaces("__default__") == {*STAGES, *COMPARED, "report"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_stages_of_a_setting_are_below_it(setting: str) -> None:
    expected = {f"{setting}.{stage}" for stage in (*STAGES, *COMPARED, "report")}
    assert namespaces(f"train_{setting}") == expected


@pytest.mark.parametrize("name", [*SWEEPS, f"train_{LOW_RESOURCE}"])
def test_a_sweep_is_a_stage_after_those_that_make_its_data(name: str) -> None:
    setting = LOW_RESOURCE if name == f"train_{LOW_RESOURCE}" else "multilingual"
    assert namespaces(name) == {f"{setting}.{stage}" for stage in (*STAGES, "untrained", "sweep")}
    sweep = PIPELINES[name].only_nodes_with_namespaces([f"{setting}.sweep"])
    assert f"{setting}.{name if name in SWEEPS else LANGUAGES_SWEEP}_sweep" in sweep.outputs()


@pytest.mark.parametrize(
    "name", ["__default__", *(f"train_{name}" for name in (*SETTINGS, LOW_RESOURCE)), *SWEEPS]
)
def test_a_complete_job_makes_every_dataset_that_it_reads(name: str) -> None:
    assert [given for given in PIPELINES[name].inputs() if not is_parameter(given)] == []


@pytest.mark.parametrize(
    ("pipelines", "chosen", "expected"),
    [
        (("train", "evaluate"), "multilingual.ease", {"train_encoder", "score_encoder"}),
        (("train", "evaluate"), "multilingual.simcse", {"gather_texts", "train_encoder", "score_encoder"}),
        (("train", "evaluate"), "multilingual.whitening", {"whiten_encoder", "score_encoder"}),
        (("train_multilingual",), "multilingual.untrained", {"build_encoder", "score_encoder"}),
        (("train_multilingual",), "multilingual.ease", {"train_encoder", "score_encoder"}),
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


def test_no_namespace_is_left_and_entered_again() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Namespace .* is interrupted")
        register_pipelines()
