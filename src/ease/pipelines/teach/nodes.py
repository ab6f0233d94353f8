"""Nodes of `teach`, beside those of any setting."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ease.encoders.options import RANDOM
from ease.entities.pairs import PairOptions
from ease.errors import EaseError
from ease.io.atomic import write_text_atomically
from ease.io.lazy import ibis
from ease.io.names import DEVELOPMENT
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate_evaluation_sets
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.mlflow_runs import TrackingOptions, log_table, withhold, write_origin
from ease.pipelines.recipe import DURATION, EncoderDefaults, Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.teach.options import check_taught_language
from ease.pipelines.train.nodes import make_start_encoder, train_encoder
from ease.pipelines.training import (
    Rows,
    TextOptions,
    TrainingData,
    drawn_sentences,
    gather_data,
    open_gathered,
    required_pairs,
    train_tracked,
)
from ease.pipelines.work import lock_for_run, scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.teaching import (
    compare_before_after,
    explain_start,
    keeps_start,
    render_teaching,
    summarize_kinds,
)
from ease.training.options import START_ENCODER
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

BATCHES = 20
"""Minimum number of batches in an epoch; smaller batches are drawn from fewer pairs."""

STEPS, EPOCHS = 400, 10
"""Few pairs are passed over until there are 400 steps, at most 10 times."""

EVALUATIONS = 8
"""Evaluations of a training that choose the checkpoint"""


def locate_taught_dumps(
    acquire: AcquireOptions, setting: Setting, language: str, companions: Any
) -> dict[str, Any]:
    """Locate or download the dumps and page_props tables of the language and its companions."""
    check_taught_language(language, companions, acquire)
    others = [code for code in setting.languages if code != language]
    logger.info("Teaching %s beside its companions %s", language, ", ".join(others) or "(none)")
    # The sample's Wikidata knows no types of other wikis' items.
    foreign = acquire.wikidata == SAMPLE and acquire.wikipedia != SAMPLE
    items = {"wikidata": None if foreign else acquire.wikidata, "wikidata_titles": "page_props"}
    return locate_dumps(acquire.model_copy(update=items), setting, PairOptions())


def locate_taught_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    setting: Setting,
    audit_set: Path,
) -> dict[str, Any]:
    """Locate the evaluation sets as `locate_evaluation_sets` does, and the audit that the run has made."""
    own = {"audit": {**tasks["audit"], "path": str(audit_set.absolute())}}
    return locate_evaluation_sets(acquire, sets, tasks | own, evaluate, setting)


def build_start(
    sentences: ibis.Table,
    training_pairs: ibis.Table,
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    acquire: AcquireOptions,
    texts: TextOptions,
    work: str,
    language: str,
    encoder: str,
    max_unknown_words: float,
    **data: Any,
) -> Path:
    """Load the encoder to teach; one with random weights is trained by masked-language modelling first."""
    untrained = make_start_encoder(sentences, setting, work)
    check_words(untrained, sentences, setting, language, encoder, max_unknown_words)
    if not setting.encoder.name.startswith(RANDOM):
        return untrained
    name = f"{setting.name}.{MLM}"
    lock = lock_for_run(Path(work) / name)
    file, _ = gather_data(recipe, recipe.seed, training_pairs, acquire, texts, lock.folder / "texts")
    given = TrainingData(encoder=untrained, rows=open_gathered(file, texts), setting=setting, **data)
    result = train_tracked(name, given, recipe.complete(setting.encoder.name, encoders), lock)
    write_origin(result.model, None, setting.encoder)
    return result.model


def check_words(
    encoder: Path, sentences: ibis.Table, setting: Setting, language: str, name: str, most: float
) -> None:
    """Refuse an encoder whose tokenizer does not know the language's words."""
    from ease.encoders.encoder import load_encoder
    from ease.encoders.tokenizer import count_words, find_unknown_words

    own = sentences.filter(sentences.language == language)
    words = count_words(drawn_sentences(own, setting), Language(language).locale)
    found = find_unknown_words(load_encoder(str(encoder)), words)
    shown = f" (such as {', '.join(found.examples)})" if found.examples else ""
    logger.info("The tokenizer does not know %.1f%% of the words of %s%s", 100 * found.share, language, shown)
    if 100 * found.share > most:
        raise EaseError(
            f"The tokenizer of {name} gives unknown tokens for {100 * found.share:.1f}% of the words of "
            f"{language}{shown}, more than `teach.max_unknown_words` {most:g}%: choose one that knows the script, "
            "such as sentence-transformers/LaBSE, or `teach.encoder=random:`, whose tokenizer is trained on the dumps."
        )


def teach_encoder(
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tracking: TrackingOptions,
    work: str,
    accept: bool,
    untrained: Path | None,
    rows: ibis.Table | None,
    **data: Any,
) -> tuple[Path, Rows]:
    """Train as `train_encoder` does, with a batch and a length that fit the number of pairs.

    `accept` says whether `latest` links to the model even if it is the start.
    """
    pairs = int(required_pairs(rows, setting).count().execute())
    fitted = fit_recipe(recipe, pairs, setting.encoder.name, encoders, setting.languages[1:])
    encoder, history = train_encoder(fitted, setting, encoders, tracking, work, untrained, rows, **data)
    if not accept and keeps_start(history):
        withhold(encoder)
    return encoder, history


def fit_recipe(
    recipe: Recipe, pairs: int, encoder: str, defaults: EncoderDefaults, companions: Sequence[str]
) -> Recipe:
    """Choose the parameters that the recipe leaves null by the number of pairs, and log them.

    Args:
        recipe: The configured recipe; given values stay.
        pairs: Number of training pairs.
        encoder: Name of the start encoder; one with random weights knows nothing that a teacher could keep.
        defaults: The encoder's defaults.
        companions: The languages that the start teaches: it would hold back the one that it does not know.
    """
    training, usual = dict(recipe.training), recipe.complete(encoder, defaults).training
    chosen: dict[str, Any] = {}
    batch, epochs = usual.batch_size, usual.epochs
    if training.get("batch_size") is None:
        batch = chosen["batch_size"] = max(2, min(batch, pairs // BATCHES))
    if all(training.get(name) is None for name in DURATION) and usual.max_steps is None:
        epochs = chosen["epochs"] = max(epochs, min(EPOCHS, -(-STEPS * batch // pairs)))
    if training.get("evaluate_every") is None:
        steps = usual.max_steps or epochs * pairs // batch
        chosen["evaluate_every"] = max(1, min(usual.evaluate_every, steps // EVALUATIONS))
    logger.info(
        "Chosen by %d pairs: %s", pairs, ", ".join(f"{name} {value}" for name, value in chosen.items())
    )
    teacher = training.get("teacher")
    if encoder.startswith(RANDOM) and teacher:
        chosen["teacher"] = None
        logger.info("No teacher: the start has random weights, so that no language could be lost")
    elif (
        isinstance(teacher, dict)
        and teacher.get("encoder") == START_ENCODER
        and teacher.get("languages") is None
    ):
        chosen["teacher"] = {**teacher, "languages": list(companions)}
        logger.info("The start is the teacher of the sentences of %s", ", ".join(companions))
    return recipe.model_copy(update={"training": training | chosen})


def report_teaching(
    dumps: dict[str, Any],
    ingest_summary: dict[str, Any],
    vocabulary: ibis.Table,
    training_pairs: ibis.Table,
    before: Rows,
    after: Rows,
    history: Rows,
    setting: Setting,
    language: str,
    accept: bool,
    work: str,
) -> tuple[Path, pd.DataFrame]:
    """Write one page with the scores before and after, the training data and the development curve.

    Returns:
        The page, in Markdown; the scores of each subset before and after.
    """
    scores = compare_before_after(before, after, language)
    pairs = training_pairs.group_by("language").agg(pairs=training_pairs.count()).to_pandas()
    taught = int(pairs.set_index("language")["pairs"].get(language, 0))
    verdict = explain_start(taught, accept) if keeps_start(history) else ""
    said = f"Before and after, in points of 100. {verdict.replace('**', '')}".rstrip()
    logger.info("%s\n%s", said, format_table(summarize_kinds(scores)))
    log_table(scores, "teaching_scores")
    parsed = pd.DataFrame(ingest_summary["languages"])
    parsed = parsed[["language", "kept", "sentences", "links", "links_resolved"]]
    languages = parsed.merge(pairs, on="language", how="left").fillna({"pairs": 0}).astype({"pairs": int})
    resolved = languages["links_resolved"] / languages["links"].clip(lower=1)
    languages = languages.rename(columns={"kept": "pages"}).assign(resolved_percent=100 * resolved)
    curve = pd.DataFrame([row for row in history if row["name"] == DEVELOPMENT])
    curve = curve[["step", "value"]].rename(columns={"value": "development"}) if len(curve) else curve
    dates = sorted({str(dump["dump_date"] or "unknown") for dump in dumps["wikipedia"]})
    facts = {
        "Start": setting.encoder.name,
        "Companions": ", ".join(code for code in setting.languages if code != language),
        "Dumps": f"{dumps['source']}, dated {', '.join(dates)}",
        "Entities": f"{vocabulary.count().execute():,}",
        "Checkpoint chosen by": ", ".join(setting.dev_tasks),
        "Hard negatives": "by the items' types"
        if dumps["wikidata"]
        else "none (no Wikidata dump with types)",
    }
    page = scratch_for_run(work, f"{setting.name}.report") / "teaching.md"
    write_text_atomically(page, render_teaching(language, facts, languages, scores, curve, verdict))
    return page, scores
