"""Wiring of `teach`: the pieces of a setting, with a start, a training and a report of its own."""

from typing import cast

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.pipelines import audit, entity_pairs, evaluate, hard_negatives, ingest, train
from ease.pipelines.entity_embeddings.nodes import embed_entities
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import EASE_PLUS, MLM
from ease.pipelines.teach.nodes import build_start, locate_taught_dumps, locate_taught_sets, teach_encoder
from ease.pipelines.teach.options import TEACH
from ease.pipelines.teach.report import report_teaching

METHOD = EASE_PLUS


def create_pipeline() -> Pipeline:
    """Create `teach`."""
    return (
        _create_acquire()
        + ingest.create_pipeline(TEACH)
        + audit.create_pipeline(TEACH)
        + _create_evaluation_sets()
        + entity_pairs.create_pipeline(TEACH)
        + hard_negatives.create_pipeline(TEACH)
        + _create_start()
        + _create_entity_embeddings()
        + _create_training()
        + evaluate.create_pipeline(TEACH, UNTRAINED)
        + evaluate.create_pipeline(TEACH, METHOD)
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
    tables = ("sentences", "training_pairs", "evaluation_data", "dumps")
    shared = ("encoders", "tasks", "work", "acquire", "texts")
    own = ("setting", "language", "encoder", "max_unknown_words")
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = [*tables, "params:recipe", "params:setting", *(f"params:{name}" for name in (*shared, *own[1:]))]
    return pipeline(
        [node(build_start, given, "encoder", name="build_encoder", tags=TRAINING_TAG)],
        namespace=f"{TEACH}.{UNTRAINED}",
        inputs={table: f"{TEACH}.{table}" for table in tables},
        parameters={
            "params:recipe": f"params:{TEACH}.{MLM}",
            **{f"params:{name}": f"params:{TEACH}.{name}" for name in own},
            **{f"params:{name}": f"params:{name}" for name in shared},
        },
        tags="entity_embeddings",
    )


def _create_entity_embeddings() -> Pipeline:
    """Create the entity table by the setting's own options."""
    tables = ("entity_vocabulary", "sitelinks", "redirects", "dumps", "untrained_encoder")
    own = ("params:entity_embeddings", "params:setting", "params:work")
    return pipeline(
        [
            node(
                embed_entities,
                [*tables, *own],
                ["entity_embeddings", "embedding_coverage"],
                name="embed_entities",
            )
        ],
        namespace=TEACH,
        inputs={"untrained_encoder": f"{TEACH}.{UNTRAINED}.encoder"},
        parameters={"params:work"},
        tags="entity_embeddings",
    )


def _create_training() -> Pipeline:
    trained = train.create_pipeline(TEACH, METHOD, mlm_start=False)
    (one,) = trained.nodes
    given = {**cast(dict[str, str], one._inputs), "accept": f"params:{TEACH}.accept"}
    return Pipeline([one._copy(func=teach_encoder, inputs=given)])


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
