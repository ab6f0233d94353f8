"""Wiring of `train`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.methods import reads_entities
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import MLM
from ease.pipelines.train.nodes import (
    WHITENING,
    fit_whitening,
    gather_method_texts,
    make_start_encoder,
    train_encoder,
)

SHARED = ("acquire", "encoders", "encoding", "tasks", "texts", "tracking", "work")
"""Parameters of the project, which get no namespace."""
OF_SETTING = ("setting", "language", "encoder", "max_unknown_words", "accept")
"""Parameters of a setting"""

# Inputs are in the order of the functions' arguments: Kedro finds the types of parameters by their places.
TRAINED = {name: f"params:{name}" for name in ("recipe", "setting", "encoders", "tracking", "work")}
LOCATED = {"evaluation_data": "evaluation_data", "dumps": "dumps", "tasks": "params:tasks"}
ENTITIES = {"vocabulary": "entity_vocabulary", "entity_embeddings": "entity_embeddings"}


def create_encoder_pipeline(setting: str) -> Pipeline:
    """Create the encoder that every method of a setting starts from."""
    given = ["sentences", "params:setting", "params:work"]
    made = node(make_start_encoder, given, "encoder", name="make_start_encoder")
    # Entity embeddings fit the encoder's dimension.
    return place([made], setting, UNTRAINED, ["sentences"], "entity_embeddings")


def create_pipeline(setting: str, method: str, mlm_start: bool = True) -> Pipeline:
    """Create `train` for one method of one setting, or its whitening, which is fitted instead of trained.

    Args:
        setting: Provides the data and the encoder.
        method: The method to train.
        mlm_start: Whether the encoder of the method `mlm` is an input, too; MLM itself always starts untrained.
    """
    starts = {"untrained": "untrained"} | ({"mlm": "mlm"} if mlm_start and method != MLM else {})
    if method == WHITENING:
        params = {"options": "params:recipe", "setting": "params:setting"}
        params |= {name: f"params:{name}" for name in ("encoding", "work")}
        given = (
            {"untrained": "untrained", "training_pairs": "training_pairs", "dumps": "dumps"} | params | starts
        )
        nodes = [node(fit_whitening, given, "encoder", name="fit_whitening", tags=TRAINING_TAG)]
        return place(nodes, setting, method, ["training_pairs", "dumps"], "train")
    nodes, rows, tables = [], "training_pairs", ["training_pairs", "evaluation_data", "dumps"]
    if reads_entities(method):
        tables += ENTITIES.values()
    else:
        rows = "texts"
        params = {name: f"params:{name}" for name in ("acquire", "texts", "recipe", "setting", "work")}
        given = {"training_pairs": "training_pairs"} | params
        nodes = [node(gather_method_texts, given, ["texts", "text_report"], name="gather_method_texts")]
    given = TRAINED | {"untrained": "untrained", "rows": rows} | starts | LOCATED
    given |= ENTITIES if reads_entities(method) else {}
    nodes += [node(train_encoder, given, ["encoder", "history"], name="train_encoder", tags=TRAINING_TAG)]
    return place(nodes, setting, method, tables, "train")


def place(nodes: list, setting: str, method: str, tables: list[str], tag: str, recipe: str = "") -> Pipeline:  # type: ignore[type-arg]
    """Give nodes the namespace of a method; tables, starts and shared parameters keep that of the setting or none.

    Args:
        nodes: Nodes with the inputs `params:recipe` and `params:setting`, tables, and encoders to start from.
        setting: The setting.
        method: The method.
        tables: The setting's tables among the inputs.
        tag: Tag of the nodes.
        recipe: The method whose recipe is read; by default the method itself.
    """
    read = {name for one in nodes for name in one.inputs}
    starts = {start: f"{setting}.{start}.encoder" for start in (UNTRAINED, MLM)}
    own = {"params:recipe": f"params:{setting}.{recipe or method}"}
    own |= {f"params:{name}": f"params:{name}" for name in SHARED}
    own |= {f"params:{name}": f"params:{setting}.{name}" for name in OF_SETTING}
    return pipeline(
        nodes,
        namespace=f"{setting}.{method}",
        inputs={name: full for name, full in starts.items() if name in read}
        | {table: f"{setting}.{table}" for table in tables},
        parameters={name: full for name, full in own.items() if name in read},
        tags=tag,
    )
