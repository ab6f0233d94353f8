"""Wiring of `train`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.methods import reads_entities
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import MLM
from ease.pipelines.train.nodes import (
    WHITENING,
    build_encoder,
    gather_texts,
    train_encoder,
    whiten_encoder,
)


def create_encoder_pipeline(setting: str) -> Pipeline:
    """Create the encoder that every method of a setting starts from."""
    given = ["sentences", "params:setting", "params:work"]
    return pipeline(
        [node(build_encoder, given, "encoder", name="build_encoder")],
        namespace=f"{setting}.{UNTRAINED}",
        inputs={"sentences": f"{setting}.sentences"},
        parameters={"params:setting": f"params:{setting}.setting", "params:work": "params:work"},
        tags="entity_embeddings",  # which fit the encoder's dimension
    )


def create_pipeline(setting: str, method: str, mlm_start: bool = True) -> Pipeline:
    """Create `train` for one method of one setting, or its whitening, which is fitted instead of trained.

    Args:
        setting: Provides the data and the encoder.
        method: The method to train.
        mlm_start: Whether the encoder of the method `mlm` is an input, too; MLM itself always starts untrained.
    """
    starts = (UNTRAINED, MLM) if mlm_start and method != MLM else (UNTRAINED,)
    encoders = {start: f"{setting}.{start}.encoder" for start in starts}
    if method == WHITENING:
        return _create_whitening(setting, encoders)
    training = _create_training(setting, method, encoders)
    return training if reads_entities(method) else _create_gathering(setting, method) + training


# Inputs are in the order of the functions' arguments: Kedro finds the types of parameters by their places.


def _create_whitening(setting: str, encoders: dict[str, str]) -> Pipeline:
    tables, shared = ("training_pairs", "dumps"), ("encoding", "work")
    given = _same(UNTRAINED, *tables) | {"options": f"params:{WHITENING}"} | _params("setting", *shared)
    given |= _same(*encoders)
    return pipeline(
        [node(whiten_encoder, given, "encoder", name="whiten_encoder", tags=TRAINING_TAG)],
        namespace=f"{setting}.{WHITENING}",
        inputs=encoders | {table: f"{setting}.{table}" for table in tables},
        parameters={
            f"params:{WHITENING}": f"params:{setting}.{WHITENING}",
            "params:setting": f"params:{setting}.setting",
            **_shared(*shared),
        },
        tags="train",
    )


def _create_gathering(setting: str, method: str) -> Pipeline:
    """Create the node that gathers the texts of a method without entities."""
    given = _same("training_pairs") | _params("acquire", "texts", "recipe", "setting", "work")
    return pipeline(
        [node(gather_texts, given, ["texts", "text_report"], name="gather_texts")],
        namespace=f"{setting}.{method}",
        inputs={"training_pairs": f"{setting}.training_pairs"},
        parameters=_recipe_of(setting, method) | _shared("acquire", "texts", "work"),
        tags="train",
    )


def _create_training(setting: str, method: str, encoders: dict[str, str]) -> Pipeline:
    tables, shared = ["evaluation_data", "dumps"], ("encoders", "tasks", "work", "tracking")
    given = {UNTRAINED: UNTRAINED, "rows": "texts"} | _same(*tables) | _params("recipe", "setting", *shared)
    if reads_entities(method):
        pairs = {"rows": "training_pairs", "vocabulary": "entity_vocabulary"} | _same("entity_embeddings")
        given |= pairs
        tables += pairs.values()
    given |= _same(*encoders)
    return pipeline(
        [node(train_encoder, given, ["encoder", "history"], name="train_encoder", tags=TRAINING_TAG)],
        namespace=f"{setting}.{method}",
        inputs=encoders | {table: f"{setting}.{table}" for table in tables},
        parameters=_recipe_of(setting, method) | _shared(*shared),
        tags="train",
    )


def _recipe_of(setting: str, method: str) -> dict[str, str]:
    return {"params:recipe": f"params:{setting}.{method}", "params:setting": f"params:{setting}.setting"}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _params(*names: str) -> dict[str, str]:
    return {name: f"params:{name}" for name in names}


def _shared(*names: str) -> dict[str, str]:
    """Map parameters of the project to themselves, so that they get no namespace."""
    return {f"params:{name}": f"params:{name}" for name in names}
