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
    # Inputs are in the order of the functions' arguments: Kedro finds the types of parameters by their places.
    if method == WHITENING:
        given = _same(UNTRAINED, "training_pairs", "dumps")
        given |= {"options": f"params:{WHITENING}"} | _params("setting", "encoding", "work") | {MLM: MLM}
        nodes = [node(whiten_encoder, given, "encoder", name="whiten_encoder", tags=TRAINING_TAG)]
    else:
        rows = "training_pairs" if reads_entities(method) else "texts"
        given = {UNTRAINED: UNTRAINED, "rows": rows} | _same("evaluation_data", "dumps")
        given |= _params("recipe", "setting", "encoders", "tasks", "work", "tracking")
        if reads_entities(method):
            given |= {"vocabulary": "entity_vocabulary", "entity_embeddings": "entity_embeddings"}
        given |= _same(*starts[1:])
        nodes = [node(train_encoder, given, ["encoder", "history"], name="train_encoder", tags=TRAINING_TAG)]
        if not reads_entities(method):
            gathered = _same("training_pairs") | _params("acquire", "texts", "recipe", "setting", "work")
            nodes += [node(gather_texts, gathered, ["texts", "text_report"], name="gather_texts")]
    read = {name for one in nodes for name in one.inputs}
    made = {name for one in nodes for name in one.outputs}
    own = {"recipe": method, "setting": "setting", WHITENING: WHITENING}
    return pipeline(
        nodes,
        namespace=f"{setting}.{method}",
        inputs={
            name: f"{setting}.{name}.encoder" if name in starts else f"{setting}.{name}"
            for name in read - made
            if not name.startswith("params:")
        },
        parameters={
            f"params:{name}": f"params:{setting}.{own[name]}" if name in own else f"params:{name}"
            for name in (name.removeprefix("params:") for name in read if name.startswith("params:"))
        },
        tags="train",
    )


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _params(*names: str) -> dict[str, str]:
    return {name: f"params:{name}" for name in names}
