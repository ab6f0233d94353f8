"""Train an encoder with one method of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.methods import UNTRAINED, method_record
from ease.pipelines.setting import MLM
from ease.pipelines.tracking import (
    TRAINING_TAG,
)
from ease.pipelines.train.nodes import (
    DATA,
    ENTITIES,
    WHITENING,
    fit_whitening,
    gather_method_texts,
    make_start_encoder,
    train_encoder,
)
from ease.pipelines.wiring import namespaced, step


def create_encoder_pipeline(setting: str) -> Pipeline:
    """Create the encoder that every method starts from, in the stage `entity_embeddings`, which need its dimension."""
    return namespaced([step(make_start_encoder, "encoder")], f"{setting}.{UNTRAINED}", "entity_embeddings")


def create_pipeline(setting: str, method: str, mlm_start: bool = True) -> Pipeline:
    """Create `train` for one method of a setting, or its whitening, which is fitted instead of trained.

    With `mlm_start`, the encoder of the method `mlm` is an input, too; MLM itself always starts untrained.
    """
    starts = {"mlm": MLM} if mlm_start and method != MLM else {}
    made = ["encoder", "history"]
    if method == WHITENING:
        nodes = [step(fit_whitening, "encoder", tags=TRAINING_TAG, options="params:recipe", **starts)]
    elif method_record(method).reads_entities:
        given = {"rows": "training_pairs", **starts, **DATA, **ENTITIES}
        nodes = [step(train_encoder, made, tags=TRAINING_TAG, **given)]
    else:
        given = {"rows": "texts", **starts, **DATA}
        train = step(train_encoder, made, tags=TRAINING_TAG, **given)
        nodes = [step(gather_method_texts, ["texts", "text_report"]), train]
    return namespaced(nodes, f"{setting}.{method}", "train")
