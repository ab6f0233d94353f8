"""The registered pipelines: their order, and the selections of `--namespaces`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from kedro.io.core import is_parameter

from ease.pipelines.setting import LOW_RESOURCE, SETTINGS
from tests.contexts import all_pipelines

PIPELINES = all_pipelines()
CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts.md"


def test_the_concepts_show_the_order_of_the_main_job() -> None:
    names = [node.name.rpartition(".")[2] for node in reversed(PIPELINES["train_multilingual"].nodes)]
    shown = re.findall(r"^\| \w+ \| `(\w+)`", CONCEPTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == [*dict.fromkeys(names)][::-1], "the last node of a name counts"


@pytest.mark.parametrize("name", ["__default__", *(f"train_{name}" for name in (*SETTINGS, LOW_RESOURCE))])
def test_a_complete_job_makes_every_dataset_that_it_reads(name: str) -> None:
    read = {given for given in PIPELINES[name].inputs() if not is_parameter(given)}
    # Only runs with `without_audit` need the pages, which `audit` makes; for others they may be missing.
    assert {given for given in read if not given.endswith(".audit_pages")} == set()


def test_a_sweep_reads_tables_of_an_earlier_run() -> None:
    tables = ("sentences", "training_pairs", "dumps", "entity_vocabulary", "entity_embeddings")
    read = {given for given in PIPELINES["sweep"].inputs() if not is_parameter(given)}
    assert read == {f"sweep.{name}" for name in tables}


@pytest.mark.parametrize(
    ("pipelines", "chosen", "expected"),
    [
        (("train", "evaluate"), "multilingual.ease", {"train_encoder", "score_encoder"}),
        (("train", "evaluate"), "multilingual.whitening", {"fit_whitening", "score_encoder"}),
        (("train_multilingual",), "multilingual.untrained", {"make_start_encoder", "score_encoder"}),
        (("stages",), "ease", {"train_encoder", "score_encoder"}),
        (("evaluate",), "baselines", {"locate_baseline_sets", "score_baselines"}),
    ],
)
def test_a_namespace_selects_a_method_or_a_setting(pipelines: tuple[str, ...], chosen: str, expected: set[str]) -> None:
    nodes = [node for name in pipelines for node in PIPELINES[name].only_nodes_with_namespaces([chosen]).nodes]
    assert {node.name.rpartition(".")[2] for node in nodes} == expected


def test_registering_the_pipelines_raises_no_warning_of_interrupted_namespaces() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Namespace .* is interrupted")
        all_pipelines.__wrapped__()
