"""Wiring of `train`."""

from kedro.pipeline import Pipeline, node, pipeline
from kedro.pipeline.node import Node

from ease.methods import reads_entities
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import MLM
from ease.pipelines.train.nodes import (
    WHITENING,
    build_encoder,
    gather_texts,
    train_on_entities,
    train_on_texts,
    whiten_encoder,
)

UNTRAINED = "untrained"
PAIRS = "training_pairs"
ENTITIES = ("entity_vocabulary", "entity_embeddings")
SHARED = ("evaluation_data", "dumps")
TRAINING = ("recipe", "setting", "encoders", "tasks", "work", "tracking")
GATHERING = ("acquire", "texts", "recipe", "setting", "work")


def create_encoder_pipeline(setting: str) -> Pipeline:
    """Create the encoder that every method of a setting starts from."""
    return pipeline(
        [
            node(
                build_encoder, ["sentences", "params:setting", "params:work"], "encoder", name="build_encoder"
            )
        ],
        namespace=f"{setting}.{UNTRAINED}",
        inputs={"sentences": f"{setting}.sentences"},
        parameters={"params:setting": f"params:{setting}.setting", "params:work": "params:work"},
        tags="entity_embeddings",  # which fit the encoder's dimension
    )


def create_pipeline(setting: str, method: str, mlm_start: bool = True) -> Pipeline:
    """Create `train` for one method of one setting: on pairs with entities, or on texts that are gathered first.

    Whitening, which is fitted and not trained, stands beside the methods.

    Args:
        setting: Whose data and encoder are used.
        method: The method to train.
        mlm_start: Whether the encoder of the method `mlm` is an input, too.
    """
    if method == WHITENING:
        return _whitening_pipeline(setting)
    # MLM itself has no other start than the untrained encoder.
    starts = ("untrained", MLM) if mlm_start and method != MLM else ("untrained",)
    if reads_entities(method):
        nodes, given, parameters = [_entity_node(starts)], {PAIRS, *ENTITIES, *SHARED}, {*TRAINING}
    else:
        nodes, given, parameters = (
            [_gather_node(), _text_node(starts)],
            {PAIRS, *SHARED},
            {*TRAINING, *GATHERING},
        )
    places = {"recipe": f"{setting}.{method}", "setting": f"{setting}.setting"}
    return pipeline(
        nodes,
        namespace=f"{setting}.{method}",
        inputs={
            **{start: f"{setting}.{start}.encoder" for start in starts},
            **{name: f"{setting}.{name}" for name in given},
        },
        parameters={f"params:{name}": f"params:{places.get(name, name)}" for name in parameters},
        tags="train",
    )


def _whitening_pipeline(setting: str) -> Pipeline:
    """Create `train` without a training: the start of all methods, made isotropic on the training sentences."""
    given = {name: name for name in ("untrained", PAIRS, "dumps")}
    parameters = {"options": WHITENING, **{name: name for name in ("setting", "encoding", "work")}}
    arguments = {**given, **{name: f"params:{value}" for name, value in parameters.items()}, MLM: MLM}
    return pipeline(
        [node(whiten_encoder, arguments, "encoder", name="whiten_encoder", tags=TRAINING_TAG)],
        namespace=f"{setting}.{WHITENING}",
        inputs={
            **{start: f"{setting}.{start}.encoder" for start in ("untrained", MLM)},
            **{name: f"{setting}.{name}" for name in (PAIRS, "dumps")},
        },
        parameters={
            **{f"params:{name}": f"params:{setting}.{name}" for name in (WHITENING, "setting")},
            **{f"params:{name}": f"params:{name}" for name in ("encoding", "work")},
        },
        tags="train",
    )


def _gather_node() -> Node:
    inputs = [PAIRS, *(f"params:{name}" for name in GATHERING)]
    return node(gather_texts, inputs, ["texts", "text_report"], name="gather_texts")


def _text_node(starts: tuple[str, ...]) -> Node:
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    arguments = {"untrained": "untrained", "texts": "texts", **_common(starts)}
    return node(train_on_texts, arguments, ["encoder", "history"], name="train_encoder", tags=TRAINING_TAG)


def _entity_node(starts: tuple[str, ...]) -> Node:
    tables = {PAIRS: PAIRS, "vocabulary": ENTITIES[0], "entity_embeddings": ENTITIES[1]}
    arguments = {"untrained": "untrained", **tables, **_common(starts)}
    return node(train_on_entities, arguments, ["encoder", "history"], name="train_encoder", tags=TRAINING_TAG)


def _common(starts: tuple[str, ...]) -> dict[str, str]:
    """The arguments that end both functions; the last one has a default."""
    return {
        **{name: name for name in SHARED},
        **{name: f"params:{name}" for name in TRAINING},
        **{start: start for start in starts[1:]},
    }
