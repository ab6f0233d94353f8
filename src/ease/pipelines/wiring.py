"""Nodes that are wired by the names of their arguments, and their places in the namespaces of settings and methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any

from kedro.pipeline import Node, Pipeline, node, pipeline

from ease.methods import UNTRAINED
from ease.pipelines.setting import MLM

PROJECT = frozenset(
    "acquire acquire_evaluation audit contamination encoders encoding engine entity_embeddings evaluate hard_negatives "
    "ingest mewsc16 mine_bitext publish report tasks texts tracking validate_evaluation work".split()
)
"""Parameters of the project; all others belong to a setting."""
PARAMETERS = PROJECT | {"setting", "recipe", "language", "companions", "accept", "max_unknown_words"}
TABLES = {"sentences", "training_pairs", "evaluation_data", "dumps", "entity_vocabulary", "entity_embeddings"}
"""Datasets of a setting that its methods read"""


def step(function: Callable[..., Any], outputs: str | list[str], name: str = "", tags: str = "", **inputs: str) -> Node:
    """Return a node that reads for each argument the dataset in `inputs`, else the parameter or dataset of its name.

    Arguments with a default are read if `inputs` has them. The inputs are in the order of the arguments, by which Kedro
    finds the types of parameters. The node has the function's name by default.
    """
    given = {
        argument.name: f"params:{argument.name}" if argument.name in PARAMETERS else argument.name
        for argument in signature(function).parameters.values()
        if argument.default is Parameter.empty and argument.kind is not Parameter.VAR_KEYWORD
    }
    return node(function, given | inputs, outputs, name=name or function.__name__, tags=tags or None)


def namespaced(
    nodes: Iterable[Node], namespace: str, tag: str = "", project: Iterable[str] = (), own: str = ""
) -> Pipeline:
    """Give nodes the namespace of a setting, or `SETTING.METHOD` of a method.

    Parameters of the project, and those in `project` except for `own`, keep their names, and so do datasets and
    parameters whose names have a dot. A method reads its recipe, and the tables, the encoders to start from and the
    other parameters of its setting.
    """
    placed = list(nodes)
    setting, _, method = namespace.partition(".")
    inputs, parameters = {}, {}
    for name in {name for one in placed for name in one.inputs}:
        parameter = name.removeprefix("params:")
        if name != parameter:
            if "." in parameter or (parameter in {*PROJECT, *project} and parameter != own):
                parameters[name] = name
            elif method:
                parameters[name] = f"params:{setting}.{method if parameter == 'recipe' else parameter}"
        elif "." in name:
            inputs[name] = name
        elif method and name in TABLES:
            inputs[name] = f"{setting}.{name}"
        elif method and name in (UNTRAINED, MLM):
            inputs[name] = f"{setting}.{name}.encoder"
    return pipeline(placed, namespace=namespace, inputs=inputs, parameters=parameters, tags=tag or None)
