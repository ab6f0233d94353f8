"""Train an encoder with each method of a setting, and fit a whitening."""

from __future__ import annotations

from kedro.pipeline import Node, Pipeline, node, pipeline

from ease.methods import UNTRAINED, method_record
from ease.pipelines.setting import MLM, SETTINGS, WHITENING, trained_encoders
from ease.pipelines.tracking import TRAINING_TAG
from ease.pipelines.train.nodes import gather_method_texts, train_encoder, train_whitening


def create_pipeline() -> Pipeline:
    """Create `train`: all methods and the whitening, of the settings that compare methods."""
    return pipeline([create_training(setting, method) for setting in SETTINGS for method in trained_encoders()])


def create_training(setting: str, method: str, mlm_start: bool = True) -> Pipeline:
    """Create the training run of one method of a setting, or its whitening, which is fitted instead of trained.

    With `mlm_start`, the encoder of the method `mlm` is also an input. MLM itself starts from the setting's encoder.
    """
    starts = {"starting_encoder": f"{setting}.{UNTRAINED}.encoder"}
    if mlm_start and method != MLM:
        starts["mlm"] = f"{setting}.{MLM}.encoder"
    if method == WHITENING:
        nodes = [_whitening(setting, starts)]
    elif method_record(method).reads_entities:
        pairs = {
            "rows": f"{setting}.training_pairs",
            "vocabulary": f"{setting}.entity_vocabulary",
            "entity_embeddings": f"{setting}.entity_embeddings",
        }
        nodes = [_training(setting, method, {**pairs, **starts})]
    else:
        texts = {"rows": f"{setting}.{method}.texts"}
        nodes = [_text_gathering(setting, method), _training(setting, method, {**texts, **starts})]
    return pipeline(nodes, tags="train")


def _text_gathering(setting: str, method: str) -> Node:
    return node(
        gather_method_texts,
        inputs=[
            # For texts of the kind `pairs`, the sentences of the training pairs.
            f"{setting}.training_pairs",
            # Texts at `sample:` are the sample's, which is made if it is missing.
            "params:acquire",
            "params:texts",
            f"params:{setting}.{method}",
            f"params:{setting}.setting",
            "params:encoders",
            "params:work",
        ],
        outputs=[f"{setting}.{method}.texts", f"{setting}.{method}.text_report"],
        name="gather_method_texts",
        namespace=f"{setting}.{method}",
    )


def _training(setting: str, method: str, method_inputs: dict[str, str]) -> Node:
    """Create the training run; `method_inputs` are the data and the encoders to start from."""
    return node(
        train_encoder,
        inputs={
            "recipe": f"params:{setting}.{method}",
            "setting": f"params:{setting}.setting",
            # Defaults by encoder and method.
            "encoders": "params:encoders",
            # The cache of embeddings, for a teacher and a guide.
            "encoding": "params:encoding",
            "tracking": "params:tracking",
            # An interrupted training run resumes in the work folder.
            "work": "params:work",
            "tasks": "params:tasks",
            # Development tasks choose the checkpoint.
            "evaluation_data": f"{setting}.evaluation_data",
            # The model card names them.
            "dumps": f"{setting}.dumps",
            **method_inputs,
        },
        outputs=[f"{setting}.{method}.encoder", f"{setting}.{method}.history"],
        name="train_encoder",
        namespace=f"{setting}.{method}",
        tags=TRAINING_TAG,
    )


def _whitening(setting: str, starts: dict[str, str]) -> Node:
    return node(
        train_whitening,
        inputs={
            "training_pairs": f"{setting}.training_pairs",
            # The model card names them.
            "dumps": f"{setting}.dumps",
            "options": f"params:{setting}.{WHITENING}",
            "setting": f"params:{setting}.setting",
            "encoding": "params:encoding",
            "work": "params:work",
            **starts,
        },
        outputs=f"{setting}.{WHITENING}.encoder",
        name="fit_whitening",
        namespace=f"{setting}.{WHITENING}",
        tags=TRAINING_TAG,
    )
