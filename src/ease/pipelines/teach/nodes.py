"""Nodes of `teach`, beside those of any setting."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from ease.encoders.options import RANDOM
from ease.entities.pairs import PairOptions
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.acquire.nodes import locate_dumps as locate
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate_evaluation_sets
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.mlflow_runs import TrackingOptions
from ease.pipelines.origins import withhold, write_origin
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.teach.options import check_taught_language
from ease.pipelines.teach.sizes import fit_recipe
from ease.pipelines.train.nodes import build_encoder, train_encoder
from ease.pipelines.training_inputs import drawn_sentences, required_pairs
from ease.pipelines.training_jobs import TrainingData, train_tracked
from ease.pipelines.training_texts import TextOptions, gather_data, open_gathered
from ease.pipelines.work import lock_for_run
from ease.reporting.teaching import keeps_start
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)


def with_page_props(acquire: AcquireOptions) -> AcquireOptions:
    """Read the items of titles from page_props tables; the sample's Wikidata knows no types of other wikis' items."""
    wikidata = acquire.wikidata
    if wikidata == SAMPLE and acquire.wikipedia != SAMPLE:
        wikidata = None
    return acquire.model_copy(update={"wikidata": wikidata, "wikidata_titles": "page_props"})


def locate_taught_dumps(
    acquire: AcquireOptions, setting: Setting, language: str, companions: Any
) -> dict[str, Any]:
    """Locate or download the dumps and page_props tables of the language and its companions.

    Raises:
        EaseError: If the language has no Wikipedia, a companion is the language, or a dump or table is missing.
    """
    check_taught_language(language, companions, acquire)
    others = [code for code in setting.languages if code != language]
    logger.info("Teaching %s beside its companions %s", language, ", ".join(others) or "(none)")
    return locate(with_page_props(acquire), setting, PairOptions())


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
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tasks: dict[str, dict[str, Any]],
    work: str,
    acquire: AcquireOptions,
    texts: TextOptions,
    language: str,
    encoder: str,
    max_unknown_words: float,
) -> Path:
    """Load the encoder to teach; one with random weights is trained by masked-language modelling first.

    Args:
        recipe: The recipe of `mlm`.
        language: The language to teach.
        encoder: `teach.encoder`, for messages; the setting has it, too.
        max_unknown_words: In percent of the language's words.

    Raises:
        EaseError: If the tokenizer does not know more of the language's words.
    """
    untrained = build_encoder(sentences, setting, work)
    check_words(untrained, sentences, setting, language, encoder, max_unknown_words)
    if not setting.encoder.name.startswith(RANDOM):
        return untrained
    name = f"{setting.name}.{MLM}"
    lock = lock_for_run(Path(work) / name)
    file, _ = gather_data(recipe, recipe.seed, training_pairs, acquire, texts, lock.folder / "texts")
    rows = open_gathered(file, texts)
    data = TrainingData(untrained, rows, None, None, evaluation_data, dumps, tasks, setting)
    result = train_tracked(name, data, recipe.complete(setting.encoder.name, encoders), lock)
    write_origin(result.model, None, setting.encoder)
    return result.model


def check_words(
    encoder: Path, sentences: ibis.Table, setting: Setting, language: str, name: str, most: float
) -> None:
    """Refuse an encoder whose tokenizer does not know the language's words.

    Raises:
        EaseError: With the share of unknown words, examples and the remedy.
    """
    from ease.encoders.encoder import load_encoder
    from ease.encoders.tokenizer import count_words, find_unknown_words

    own = sentences.filter(sentences.language == language)
    words = count_words(drawn_sentences(own, setting), Language(language).locale)
    found = find_unknown_words(load_encoder(str(encoder)), words)
    shown = f" (such as {', '.join(found.examples)})" if found.examples else ""
    logger.info("The tokenizer does not know %.1f%% of the words of %s%s", 100 * found.share, language, shown)
    if 100 * found.share > most:
        raise EaseError(
            f"The tokenizer of {name} gives unknown tokens for {100 * found.share:.1f}% of the words of {language}"
            f"{shown}, more than `teach.max_unknown_words` {most:g}%: choose an encoder that knows the script, such as "
            "sentence-transformers/LaBSE, or `teach.encoder=random:`, whose tokenizer is trained on the dumps."
        )


def teach_encoder(
    untrained: Path | None,
    rows: ibis.Table | None,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tasks: dict[str, dict[str, Any]],
    work: str,
    tracking: TrackingOptions,
    accept: bool,
    vocabulary: ibis.Table | None = None,
    entity_embeddings: Path | None = None,
) -> tuple[Path, list[dict[str, Any]]]:
    """Train as `train_encoder` does, with a batch and a length that fit the number of pairs.

    Args:
        accept: Whether `latest` links to the model even if it is the start.
    """
    pairs = int(required_pairs(rows, setting).count().execute())
    fitted = fit_recipe(recipe, pairs, setting.encoder.name, encoders, setting.languages[1:])
    encoder, history = train_encoder(
        untrained,
        rows,
        evaluation_data,
        dumps,
        fitted,
        setting,
        encoders,
        tasks,
        work,
        tracking,
        vocabulary,
        entity_embeddings,
    )
    if not accept and keeps_start(history):
        withhold(encoder)
    return encoder, history
