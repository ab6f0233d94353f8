"""The registered pipelines: their order, and the selections of `--namespaces`."""

from __future__ import annotations

import re
import warnings

import pytest
from kedro.io.core import is_parameter
from kedro.pipeline import Node, Pipeline, node

from ease.pipelines.setting import LOW_RESOURCE, SETTINGS
from ease.pipelines.tracking import TRAINING_TAG
from tests.contexts import all_pipelines
from tests.project import ROOT

PIPELINES = all_pipelines()
CONCEPTS = ROOT / "docs" / "concepts.md"
RUNS = ROOT / "docs" / "runs.md"


ROW = re.compile(r"^\| (\w+) \| `(\w+)`(?: of ([\w, ]+))? \| ([\w, ]*) \| ([\w, ]*) \|$", re.MULTILINE)
"""A row of the table of nodes: the stage, the node, the encoders that it makes or scores, what it reads and makes"""


def test_the_concepts_show_the_nodes_of_the_main_job() -> None:
    nodes_by_name: dict[str, list[Node]] = {}
    for made in PIPELINES["train_multilingual"].nodes:
        name = made.name.rpartition(".")[2]
        # The last node of a name counts for the order.
        nodes_by_name[name] = [*nodes_by_name.pop(name, []), made]
    expected = []
    for name, nodes in nodes_by_name.items():
        (stage,) = nodes[0].tags - {TRAINING_TAG}
        encoders = {str(node.namespace).rpartition(".")[2] for node in nodes} - {stage}
        reads = {dataset.rpartition(".")[2] for node in nodes for dataset in node.inputs if not is_parameter(dataset)}
        makes = {dataset.rpartition(".")[2] for node in nodes for dataset in node.outputs}
        expected.append((stage, name, encoders, reads, makes))
    shown = [
        (stage, name, *({word for word in cell.split(", ") if word} for cell in cells))
        for stage, name, *cells in ROW.findall(CONCEPTS.read_text(encoding="utf-8"))
    ]
    assert shown == expected


def test_a_documented_line_of_progress_names_a_node_of_the_main_job() -> None:
    (line,) = re.findall(r"Node (\d+) of (\d+): ([\w.]+)", RUNS.read_text(encoding="utf-8"))
    number, count, name = line
    nodes = PIPELINES["train_multilingual"].nodes
    assert (nodes[int(number) - 1].name, len(nodes)) == (name, int(count))


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
        with pytest.raises(UserWarning, match="interrupted"):
            # Otherwise, Kedro words its warning in another way, and the filter finds none.
            Pipeline([step("a", "b", "mine"), step("b", "c", None), step("c", "d", "mine")])
        all_pipelines.__wrapped__()


def step(reads: str, makes: str, namespace: str | None) -> Node:
    return node(lambda value: value, reads, makes, name=makes, namespace=namespace)
