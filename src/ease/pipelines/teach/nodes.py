"""Teach an encoder a language from its Wikipedia, and report what was gained and lost."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ease.encoders.defaults import DURATION, EncoderDefaults
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT
from ease.evaluation.tasks import TaskParameters
from ease.io.atomic import write_text_atomically
from ease.lazy import ibis, pd
from ease.options import Rows
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.acquire_evaluation.nodes import locate_evaluation_sets
from ease.pipelines.entity_embeddings.nodes import make_start_encoder
from ease.pipelines.options import AUDIT, SAMPLE, AcquireOptions, EvaluateOptions, EvaluationSetOptions, TextOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.teach.prompts import choose_prompt
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
STEPS = 400
"""Minimum number of steps, for which few pairs are passed over several times"""
EPOCHS = 10
"""Maximum number of these times"""
EVALUATIONS = 8
"""Evaluations of a training that choose the checkpoint"""


def locate_taught_dumps(acquire: AcquireOptions, setting: Setting, language: str, companions: Any) -> dict[str, Any]:
    """Locate or download the dumps and page_props tables of the language and its companions."""
    check_taught_languages(language, companions, acquire)
    companion_codes = [code for code in setting.languages if code != language]
    logger.info("Teaching %s beside its companions %s", language, ", ".join(companion_codes) or "(none)")
    # The sample's Wikidata knows no types of other wikis' items.
    wikidata = acquire.wikidata
    if wikidata == SAMPLE and acquire.wikipedia != SAMPLE:
        wikidata = None
    # The tables of two languages are small; Wikidata's dump has the items of all.
    items = {"wikidata": wikidata, "wikidata_titles": "page_props"}
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
    audit = {AUDIT: {**tasks[AUDIT], "path": str(audit_set.absolute())}}
    return locate_evaluation_sets(acquire, sets, tasks | audit, evaluate, setting)


def build_start(
    sentences: ibis.Table,
    training_pairs: ibis.Table,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    tasks: TaskParameters,
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
    of_language = sentences.filter(sentences.language == language)
    words = count_words(drawn_sentences(of_language, setting), Language(language).locale)
    unknown = find_unknown_words(load_encoder(str(untrained)), words)
    percent = 100 * unknown.share
    examples = ""
    if unknown.examples:
        examples = f" (such as {', '.join(unknown.examples)})"
    logger.info("The tokenizer does not know %.1f%% of the words of %s%s", percent, language, examples)
    if percent > max_unknown_words:
        raise EaseError(
            f"The tokenizer of {encoder} gives unknown tokens for {percent:.1f}% of the words of "
            f"{language}{examples}, more than `teach.max_unknown_words` {max_unknown_words:g}%: choose one that knows "
            "the script, such as sentence-transformers/LaBSE, or `teach.encoder=random:`, whose tokenizer is trained "
            "on the dumps."
        )
    if not setting.encoder.name.startswith(RANDOM):
        choose_prompt(untrained, setting.dev_tasks, evaluation_data, tasks)
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
    # As for any start, the encoder's file names no run, so its scores are added to none.
    write_origin(result.model, None, setting.encoder)
    return result.model


def teach_encoder(
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tracking: TrackingOptions,
    work: str,
    accept: bool,
    tasks: TaskParameters,
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
    recipe = _fit_recipe(recipe, pairs, setting.encoder.name, encoders, setting.languages[1:])
    encoder, history = train_encoder(
        recipe,
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
    """Choose the parameters that the recipe leaves null by the number of pairs, and log them."""
    training = dict(recipe.training)
    default = recipe.complete(encoder, defaults).training
    fitted: dict[str, Any] = {}
    batch_size = default.batch_size
    if training.get("batch_size") is None:
        batch_size = max(2, min(batch_size, pairs // BATCHES))
        fitted["batch_size"] = batch_size
    epochs = default.epochs
    if all(training.get(name) is None for name in DURATION) and default.max_steps is None:
        epochs = max(epochs, min(EPOCHS, math.ceil(STEPS * batch_size / pairs)))
        fitted["epochs"] = epochs
    if training.get("evaluate_every") is None:
        steps = default.max_steps or epochs * pairs // batch_size
        fitted["evaluate_every"] = max(1, min(default.evaluate_every, steps // EVALUATIONS))
    logger.info("Chosen by %d pairs: %s", pairs, fitted)
    teacher = training.get("teacher")
    if encoder.startswith(RANDOM) and teacher:
        fitted["teacher"] = None
        logger.info("No teacher: the start has random weights, so that no language could be lost")
    elif isinstance(teacher, dict) and teacher.get("encoder") == START_ENCODER and teacher.get("languages") is None:
        # The start would hold back the language that it does not know.
        fitted["teacher"] = {**teacher, "languages": list(companions)}
        logger.info("The start is the teacher of the sentences of %s", ", ".join(companions))
    return recipe.model_copy(update={"training": training | fitted})


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
    verdict = ""
    if keeps_start(history):
        verdict = explain_start(int(pairs.set_index("language")["pairs"].get(language, 0)), accept)
    caption = f"Before and after, in points of 100. {verdict.replace('**', '')}".rstrip()
    logger.info("%s\n%s", caption, format_table(summarize_kinds(scores)))
    log_table(scores, "teaching_scores")
    curve = pd.DataFrame([row for row in history if row["name"] == DEVELOPMENT])
    if len(curve):
        curve = curve[["step", "value"]].rename(columns={"value": "development"})
    dates = sorted({str(dump["dump_date"] or "unknown") for dump in dumps["wikipedia"]})
    types = "none (no Wikidata dump with types)"
    if dumps["wikidata"]:
        types = "by the items' types"
    facts = {
        "Start": setting.encoder.name,
        "Companions": ", ".join(code for code in setting.languages if code != language),
        "Dumps": f"{dumps['source']}, dated {', '.join(dates)}",
        "Entities": f"{entity_vocabulary.count().execute():,}",
        "Checkpoint chosen by": ", ".join(setting.dev_tasks),
        "Hard negatives": types,
    }
    languages = _describe_languages(ingest_summary, pairs)
    page = scratch_for_run(work, f"{setting.name}.report") / "teaching.md"
    write_text_atomically(page, render_teaching(language, facts, languages, scores, curve, verdict))
    return page, scores


def _describe_languages(ingest_summary: dict[str, Any], pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pages, sentences, links and training pairs of each language."""
    ingested = pd.DataFrame(ingest_summary["languages"])
    ingested = ingested[["language", "kept", "sentences", "links", "links_resolved"]]
    languages = ingested.merge(pairs, on="language", how="left").fillna({"pairs": 0}).astype({"pairs": int})
    resolved = languages["links_resolved"] / languages["links"].clip(lower=1)
    return languages.rename(columns={"kept": "pages"}).assign(resolved_percent=100 * resolved)
