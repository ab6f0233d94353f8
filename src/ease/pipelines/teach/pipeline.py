"""Wiring of `teach`: the pieces of a setting, with a start, a training and a report of its own."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.pipelines.audit import create_pipeline as audit
from ease.pipelines.entity_embeddings import create_pipeline as entity_embeddings
from ease.pipelines.entity_pairs import create_pipeline as entity_pairs
from ease.pipelines.evaluate.pipeline import create_pipeline as evaluate
from ease.pipelines.hard_negatives import create_pipeline as hard_negatives
from ease.pipelines.ingest.pipeline import create_pipeline as ingest
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import EASE_PLUS, MLM
from ease.pipelines.teach.nodes import (
    build_start,
    locate_taught_dumps,
    locate_taught_sets,
    report_teaching,
    teach_encoder,
)
from ease.pipelines.teach.options import TEACH
from ease.pipelines.train.pipeline import ENTITIES, LOCATED, TRAINED, place

METHOD = EASE_PLUS


def create_pipeline() -> Pipeline:
    """Create `teach`."""
    return (
        _create_acquire()
        + ingest(TEACH)
        + audit(TEACH)
        + _create_evaluation_sets()
        + entity_pairs(TEACH)
        + hard_negatives(TEACH)
        + _create_start()
        + entity_embeddings(TEACH, own_options=True)
        + _create_training()
        + evaluate(TEACH, UNTRAINED)
        + evaluate(TEACH, METHOD)
        + _create_report()
    )


def _create_acquire() -> Pipeline:
    located = ["params:acquire", "params:setting", "params:language", "params:companions"]
    return pipeline(
        [node(locate_taught_dumps, located, "dumps", name="locate_dumps")],
        namespace=TEACH,
        parameters={"params:acquire"},
        tags="acquire",
    )


def _create_evaluation_sets() -> Pipeline:
    """Locate the evaluation sets after the audit, which is one of them."""
    shared = ("acquire", "acquire_evaluation", "tasks", "evaluate")
    given = [*(f"params:{name}" for name in shared), "params:setting", "audit_set"]
    return pipeline(
        [node(locate_taught_sets, given, "evaluation_data", name="locate_evaluation_sets")],
        namespace=TEACH,
        parameters={f"params:{name}" for name in shared},
        tags="acquire_evaluation",
    )


def _create_start() -> Pipeline:
    """Create the encoder to teach; `untrained` is its name in the catalog, as in other settings."""
    own = {name: f"params:{name}" for name in ("recipe", "setting", "encoders", "acquire", "texts", "work")}
    own |= {name: f"params:{name}" for name in ("language", "encoder", "max_unknown_words")}
    given = {name: name for name in ("sentences", "training_pairs")} | own | LOCATED
    made = node(build_start, given, "encoder", name="build_start", tags=TRAINING_TAG)
    tables = ["sentences", "training_pairs", "evaluation_data", "dumps"]
    return place([made], TEACH, UNTRAINED, tables, "entity_embeddings", recipe=MLM)


def _create_training() -> Pipeline:
    given = TRAINED | {"accept": "params:accept", "untrained": "untrained", "rows": "training_pairs"}
    given |= LOCATED | ENTITIES
    made = node(teach_encoder, given, ["encoder", "history"], name="teach_encoder", tags=TRAINING_TAG)
    tables = ["training_pairs", "evaluation_data", "dumps", *ENTITIES.values()]
    return place([made], TEACH, METHOD, tables, "train")


def _create_report() -> Pipeline:
    """Create the page that compares the encoder before and after."""
    tables = ("dumps", "ingest_summary", "entity_vocabulary", "training_pairs")
    given = [*tables, "before", "after", "history"]
    given += [f"params:{name}" for name in ("setting", "language", "accept", "work")]
    return pipeline(
        [
            node(
                report_teaching,
                given,
                ["teaching_page", "teaching_scores"],
                name="report_teaching",
            )
        ],
        namespace=TEACH,
        inputs={
            "before": f"{TEACH}.{UNTRAINED}.scores",
            "after": f"{TEACH}.{METHOD}.scores",
            "history": f"{TEACH}.{METHOD}.history",
        },
        parameters={"params:work"},
        tags="report",
    )
