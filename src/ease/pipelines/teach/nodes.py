"""Teach an encoder a language from its Wikipedia, and report what was gained and lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ease.encoders.defaults import DURATION, EncoderDefaults
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT, TaskOptions
from ease.io.atomic import write_text_atomically
from ease.lazy import ibis
from ease.options import Rows
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.acquire_evaluation.nodes import locate_evaluation_sets
from ease.pipelines.entity_embeddings.nodes import make_start_encoder
from ease.pipelines.options import SAMPLE, AcquireOptions, EvaluateOptions, EvaluationSetOptions, TextOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.teach.setting import check_taught_languages
from ease.pipelines.tracking import TrackingOptions, log_table, withhold, write_origin
from ease.pipelines.train.nodes import train_encoder
from ease.pipelines.training import (
    TrainingData,
    drawn_sentences,
    gather_data,
    open_gathered,
    require_pairs,
    train_tracked,
)
from ease.pipelines.work import lock_for_run, scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.teaching import compare_before_after, explain_start, keeps_start, render_teaching, summarize_kinds
from ease.training.options import START_ENCODER
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

BATCHES = 20
"""Minimum number of batches in an epoch; smaller batches are drawn from fewer pairs."""
STEPS, EPOCHS = 400, 10
"""Few pairs are passed over until there are 400 steps, at most 10 times."""
EVALUATIONS = 8
"""Evaluations of a training that choose the checkpoint"""


def locate_taught_dumps(acquire: AcquireOptions, setting: Setting, language: str, companions: Any) -> dict[str, Any]:
    """Locate or download the dumps and page_props tables of the language and its companions."""
    check_taught_languages(language, companions, acquire)
    others = [code for code in setting.languages if code != language]
    logger.info("Teaching %s beside its companions %s", language, ", ".join(others) or "(none)")
    # The sample's Wikidata knows no types of other wikis' items.
    foreign = acquire.wikidata == SAMPLE and acquire.wikipedia != SAMPLE
    items = {"wikidata": None if foreign else acquire.wikidata, "wikidata_titles": "page_props"}
    return locate_dumps(acquire.model_copy(update=items), setting)


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
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    tasks: TaskOptions,
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    acquire: AcquireOptions,
    texts: TextOptions,
    work: str,
    language: str,
    encoder: str,
    max_unknown_words: float,
) -> Path:
    """Load the encoder to teach; one with random weights is trained by masked-language modelling first.

    Raises:
        EaseError: If the tokenizer does not know too many of the language's words.
    """
    from ease.encoders.encoder import load_encoder
    from ease.encoders.tokenizer import count_words, find_unknown_words

    untrained = make_start_encoder(sentences, setting, work)
    own = sentences.filter(sentences.language == language)
    words = count_words(drawn_sentences(own, setting), Language(language).locale)
    found = find_unknown_words(load_encoder(str(untrained)), words)
    shown = f" (such as {', '.join(found.examples)})" if found.examples else ""
    logger.info("The tokenizer does not know %.1f%% of the words of %s%s", 100 * found.share, language, shown)
    if 100 * found.share > max_unknown_words:
        raise EaseError(
            f"The tokenizer of {encoder} gives unknown tokens for {100 * found.share:.1f}% of the words of "
            f"{language}{shown}, more than `teach.max_unknown_words` {max_unknown_words:g}%: choose one that knows the "
            "script, such as sentence-transformers/LaBSE, or `teach.encoder=random:`, whose tokenizer is trained on "
            "the dumps."
        )
    if not setting.encoder.name.startswith(RANDOM):
        return untrained
    name = f"{setting.name}.{MLM}"
    lock = lock_for_run(Path(work) / name)
    complete = recipe.complete(setting.encoder.name, encoders)
    file, _ = gather_data(recipe, complete.training.seed, training_pairs, acquire, texts, lock.folder / "texts")
    data = TrainingData(
        encoder=untrained,
        rows=open_gathered(file, texts),
        evaluation_data=evaluation_data,
        dumps=dumps,
        tasks=tasks,
        setting=setting,
    )
    result = train_tracked(name, data, complete, lock, None)
    write_origin(result.model, None, setting.encoder)
    return result.model


def teach_encoder(
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tracking: TrackingOptions,
    work: str,
    accept: bool,
    tasks: TaskOptions,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    untrained: Path,
    training_pairs: ibis.Table | None,
    vocabulary: ibis.Table,
    entity_embeddings: Path,
) -> tuple[Path, Rows]:
    """Train as `train_encoder` does, with a batch and a length that fit the number of pairs.

    `accept` says whether `latest` links to the model even if it is the start.
    """
    pairs = int(require_pairs(training_pairs, setting).count().execute())
    fitted = _fit_recipe(recipe, pairs, setting.encoder.name, encoders, setting.languages[1:])
    encoder, history = train_encoder(
        fitted,
        setting,
        encoders,
        tracking,
        work,
        tasks,
        evaluation_data,
        dumps,
        untrained,
        training_pairs,
        vocabulary,
        entity_embeddings,
    )
    if not accept and keeps_start(history):
        withhold(encoder)
    return encoder, history


def _fit_recipe(
    recipe: Recipe, pairs: int, encoder: str, defaults: EncoderDefaults, companions: Sequence[str]
) -> Recipe:
    """Choose the parameters that the recipe leaves null by the number of pairs, and log them.

    The start teaches the companions alone: it would hold back the language that it does not know.
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
    logger.info("Chosen by %d pairs: %s", pairs, chosen)
    teacher = training.get("teacher")
    if encoder.startswith(RANDOM) and teacher:
        chosen["teacher"] = None
        logger.info("No teacher: the start has random weights, so that no language could be lost")
    elif isinstance(teacher, dict) and teacher.get("encoder") == START_ENCODER and teacher.get("languages") is None:
        chosen["teacher"] = {**teacher, "languages": list(companions)}
        logger.info("The start is the teacher of the sentences of %s", ", ".join(companions))
    return recipe.model_copy(update={"training": training | chosen})


def report_teaching(
    dumps: dict[str, Any],
    ingest_summary: dict[str, Any],
    entity_vocabulary: ibis.Table,
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
    types = "by the items' types" if dumps["wikidata"] else "none (no Wikidata dump with types)"
    facts = {
        "Start": setting.encoder.name,
        "Companions": ", ".join(code for code in setting.languages if code != language),
        "Dumps": f"{dumps['source']}, dated {', '.join(dates)}",
        "Entities": f"{entity_vocabulary.count().execute():,}",
        "Checkpoint chosen by": ", ".join(setting.dev_tasks),
        "Hard negatives": types,
    }
    page = scratch_for_run(work, f"{setting.name}.report") / "teaching.md"
    write_text_atomically(page, render_teaching(language, facts, languages, scores, curve, verdict))
    return page, scores
