"""Teach an encoder a language from its Wikipedia."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import UNTRAINED
from ease.pipelines.setting import EASE_PLUS, MLM
from ease.pipelines.teach.nodes import (
    build_start,
    choose_taught_encoder,
    learn_letters,
    locate_taught_dumps,
    locate_taught_sets,
    make_country_names,
    report_teaching,
    teach_encoder,
)
from ease.pipelines.tracking import TRAINING_TAG

METHOD = EASE_PLUS


def create_pipeline() -> Pipeline:
    """Create the nodes of `teach` that other settings do not have; `pipeline_registry.py` adds those of a setting."""
    return pipeline([_locations(), _start(), _training(), _report()])


def _locations() -> Pipeline:
    """Locate the dumps and the evaluation sets in place of `acquire` and `acquire_evaluation`."""
    dumps = node(
        locate_taught_dumps,
        inputs=["params:acquire", "params:teach.setting", "params:teach.language", "params:teach.companions"],
        outputs="teach.dumps",
        name="locate_dumps",
        namespace="teach.acquire",
        tags="acquire",
    )
    sets = node(
        locate_taught_sets,
        inputs=[
            "params:acquire",
            "params:acquire_evaluation",
            "params:tasks",
            "params:evaluate",
            "params:teach.setting",
            "params:teach.kept_tasks",
            # The test sets that the run makes, from links and from CLDR.
            "teach.audit_set",
            "teach.country_names",
        ],
        outputs="teach.evaluation_data",
        name="locate_evaluation_sets",
        namespace="teach.acquire_evaluation",
        tags="acquire_evaluation",
    )
    names = node(
        make_country_names,
        inputs=["params:teach.setting", "params:work"],
        outputs="teach.country_names",
        name="make_country_names",
        namespace="teach.acquire_evaluation",
        tags="acquire_evaluation",
    )
    return pipeline([dumps, names, sets])


def _start() -> Pipeline:
    """Create the encoder to teach, which the catalog calls `untrained`, as in other settings."""
    start = node(
        build_start,
        inputs=[
            "teach.sentences",
            "teach.training_pairs",
            "teach.evaluation_data",
            "teach.dumps",
            "teach.encoder_choice",
            "params:tasks",
            # An encoder with random weights is trained by masked-language modelling first.
            f"params:teach.{MLM}",
            "params:teach.setting",
            "params:encoders",
            "params:acquire",
            "params:texts",
            "params:work",
            "params:teach.language",
            # A tokenizer that does not know the script is refused.
            "params:teach.max_unknown_words",
        ],
        outputs=f"teach.{UNTRAINED}.encoder",
        name="build_start",
        namespace=f"teach.{UNTRAINED}",
        tags=["entity_embeddings", TRAINING_TAG],
    )
    choice = node(
        choose_taught_encoder,
        inputs=[
            "teach.sentences",
            "teach.sitelinks",
            "params:teach.setting",
            "params:teach.language",
            "params:teach.encoder",
            "params:teach.candidates",
        ],
        outputs="teach.encoder_choice",
        name="choose_encoder",
        namespace=f"teach.{UNTRAINED}",
        tags="entity_embeddings",
    )
    letters = node(
        learn_letters,
        inputs=[
            "teach.sentences",
            # Titles of one item in two languages say what a letter stands for.
            "teach.sitelinks",
            "teach.encoder_choice",
            f"teach.{UNTRAINED}.encoder",
            "teach.evaluation_data",
            "params:tasks",
            "params:teach.respelling",
            "params:teach.setting",
            "params:teach.language",
            "params:teach.min_kept",
            "params:teach.kept_tasks",
            "params:teach.kept_sentences",
            "params:work",
        ],
        outputs="teach.respelling",
        name="learn_letters",
        namespace=f"teach.{UNTRAINED}",
        tags=["entity_embeddings", TRAINING_TAG],
    )
    return pipeline([choice, start, letters])


def _training() -> Pipeline:
    training = node(
        teach_encoder,
        inputs=[
            f"params:teach.{METHOD}",
            "params:teach.setting",
            "params:encoders",
            # The cache of embeddings, for a teacher and a guide.
            "params:encoding",
            "params:tracking",
            "params:work",
            "params:teach.accept",
            "params:teach.train",
            "params:teach.min_kept",
            "params:teach.kept_tasks",
            "params:teach.kept_sentences",
            "params:tasks",
            "teach.evaluation_data",
            "teach.dumps",
            "teach.encoder_choice",
            f"teach.{UNTRAINED}.encoder",
            "teach.respelling",
            "teach.training_pairs",
            "teach.entity_vocabulary",
            "teach.entity_embeddings",
        ],
        outputs=[f"teach.{METHOD}.encoder", f"teach.{METHOD}.history"],
        name="teach_encoder",
        namespace=f"teach.{METHOD}",
        tags=["train", TRAINING_TAG],
    )
    return pipeline([training])


def _report() -> Pipeline:
    report = node(
        report_teaching,
        inputs=[
            "teach.dumps",
            # The page lists the pages, links and pairs of each language.
            "teach.ingest_summary",
            "teach.entity_vocabulary",
            "teach.training_pairs",
            f"teach.{UNTRAINED}.scores",
            f"teach.{METHOD}.scores",
            f"teach.{METHOD}.history",
            "teach.encoder_choice",
            "teach.respelling",
            "params:teach.setting",
            "params:teach.language",
            "params:teach.accept",
            "params:teach.train",
            "params:teach.min_kept",
            # Its cache has the scores' items, from which the intervals of gains are computed.
            "params:encoding",
            "params:work",
        ],
        outputs=["teach.teaching_page", "teach.teaching_scores"],
        name="report_teaching",
        namespace="teach.report",
        tags="report",
    )
    return pipeline([report])
