"""Teach an encoder a language from its Wikipedia, and report what was gained and lost."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ease.encoders.defaults import EncoderDefaults
from ease.encoders.model_card import model_card
from ease.encoders.options import RANDOM, EncodingOptions, RespellingOptions
from ease.entities.translations import FIRST_SENTENCE, NAME
from ease.errors import EaseError
from ease.evaluation.tasks import TaskParameters
from ease.io.atomic import atomic_folder, write_text_atomically
from ease.lazy import DataFrame, Table, pd
from ease.options import Rows, split_words
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.acquire_evaluation.nodes import locate_evaluation_sets
from ease.pipelines.entity_embeddings.nodes import make_start_encoder
from ease.pipelines.options import (
    AUDIT,
    COUNTRY_NAMES,
    SAMPLE,
    AcquireOptions,
    EvaluateOptions,
    EvaluationSetOptions,
    TextOptions,
)
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.teach.country_names import NAMED_LANGUAGES, write_country_names
from ease.pipelines.teach.fitting import fit_recipe
from ease.pipelines.teach.knowledge import (
    TaughtLetters,
    is_multilingual,
    known_subsets,
    known_tasks,
    retention_tasks,
    score_retention,
    share_kept,
)
from ease.pipelines.teach.page import (
    describe_known,
    describe_languages,
    describe_retention,
    describe_start,
    describe_training,
)
from ease.pipelines.teach.prompts import choose_prompt
from ease.pipelines.teach.setting import AUTO, check_taught_languages, pivot_of
from ease.pipelines.teach.translations import find_name_pairs, text_pairs
from ease.pipelines.tracked_training import (
    TrainingData,
    describe_data,
    drawn_sentences,
    gather_data,
    open_gathered,
    require_pairs,
    train_tracked,
)
from ease.pipelines.tracking import (
    TrackingOptions,
    flatten_options,
    log_table,
    log_values,
    training_run,
    withhold,
    write_origin,
)
from ease.pipelines.train.nodes import train_encoder
from ease.pipelines.work import lock_for_run, scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.teaching import (
    compare_before_after,
    describe_letters,
    explain_start,
    keeps_start,
    learning_curve,
    render_teaching,
    summarize_kinds,
)
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

HELD_OUT_ITEMS = 5
"""One item in this many is held out to test what the others teach."""
RESPELLING = "respelling"
"""Stands in for the method's name where only the vocabulary changes"""


def locate_taught_dumps(acquire: AcquireOptions, setting: Setting, language: str, companions: Any) -> dict[str, Any]:
    """Locate or download the dumps and page_props tables of the language and its companions."""
    check_taught_languages(language, companions, acquire)
    companion_codes = [code for code in setting.languages if code != language]
    logger.info("Teaching %s beside its companions %s", language, ", ".join(companion_codes) or "(none)")
    return locate_dumps(taught_sources(acquire), setting)


def taught_sources(acquire: AcquireOptions) -> AcquireOptions:
    """Return the sources that `teach` reads: page_props tables, since Wikidata's dump is of all languages."""
    wikidata = acquire.wikidata
    # The sample's Wikidata knows no types of other wikis' items.
    if wikidata == SAMPLE and acquire.wikipedia != SAMPLE:
        wikidata = None
    return acquire.model_copy(update={"wikidata": wikidata, "wikidata_titles": "page_props"})


def locate_taught_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    setting: Setting,
    kept_tasks: Sequence[str],
    audit_set: Path,
    country_names: Path,
) -> dict[str, Any]:
    """Locate the sets of the setting's and the kept tasks, among them the two that the run has made."""
    # What an encoder must keep is measured even if it is not among the scores on the page.
    test_tasks = dict.fromkeys([*setting.test_tasks, *(split_words(kept_tasks) or ())])
    setting = setting.model_copy(update={"test_tasks": tuple(test_tasks)})
    folders = {AUDIT: audit_set, COUNTRY_NAMES: country_names}
    made_tasks = {name: {**tasks[name], "path": str(folder.absolute())} for name, folder in folders.items()}
    located = locate_evaluation_sets(acquire, sets, tasks | made_tasks, evaluate, setting)
    for name in made_tasks.keys() & located.keys():
        # Later nodes compare the address with that of the parameters.
        located[name]["address"] = str(tasks[name]["path"])
    return located


def make_country_names(setting: Setting, work: str) -> Path:
    """Write the names of countries in large languages, by which a run measures what an encoder knows and keeps."""
    folder = scratch_for_run(work, f"{setting.name}.country_names") / COUNTRY_NAMES
    with atomic_folder(folder) as partial:
        write_country_names(partial, [code for code in NAMED_LANGUAGES if code != setting.languages[0]])
    return folder


def choose_taught_encoder(
    sentences: Table,
    sitelinks: Table,
    setting: Setting,
    language: str,
    encoder: str,
    candidates: Sequence[str],
) -> dict[str, Any]:
    """Return the encoder to start from; of `auto`, the candidate that knows the language best before any training.

    Returns:
        The `encoder`, and for each candidate the percentage of names and first sentences whose translation it finds
        (`scores`), or why it cannot be scored (`fault`).
    """
    if encoder != AUTO:
        return {"encoder": setting.encoder.name, "scores": []}
    from ease.encoders.encoder import load_encoder
    from ease.encoders.encoding import encode_with
    from ease.encoders.respelling import NamePairs

    translations = find_name_pairs(sentences, sitelinks, setting, language)
    kinds = {str(kind): text_pairs(rows) for kind, rows in translations.groupby("kind") if len(rows) > 1}
    if not kinds:
        raise EaseError(
            f"`teach.encoder=auto` compares encoders on articles of {language} and {pivot_of(setting.languages)} about "
            "the same items, and there are none: name an encoder."
        )
    scores = Rows()
    for candidate in split_words(candidates):
        try:
            encode = encode_with(load_encoder(candidate))
        except EaseError as error:
            logger.warning("%s is no candidate: %s", candidate, error)
            scores.append({"encoder": candidate, "fault": str(error)})
            continue
        accuracies = {kind: 100 * NamePairs(encode, pairs).accuracy() for kind, pairs in kinds.items()}
        scores.append({"encoder": candidate, **accuracies, "mean": fmean(accuracies.values())})
    loaded = [row for row in scores if "mean" in row]
    if not loaded:
        raise EaseError("None of `teach.candidates` can be loaded: name an encoder in `teach.encoder`.")
    best = max(loaded, key=lambda row: row["mean"])
    table = format_table(pd.DataFrame(loaded))
    logger.info(
        "The starting encoder is %s. Translations that each candidate finds, in percent:\n%s", best["encoder"], table
    )
    return {"encoder": best["encoder"], "scores": scores}


def _starting_from(setting: Setting, encoder_choice: dict[str, Any]) -> Setting:
    """Return the setting with the encoder that `choose_taught_encoder` has chosen."""
    return setting.model_copy(
        update={"encoder": setting.encoder.model_copy(update={"name": encoder_choice["encoder"]})}
    )


def build_start(
    sentences: Table,
    training_pairs: Table,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    encoder_choice: dict[str, Any],
    tasks: TaskParameters,
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    acquire: AcquireOptions,
    texts: TextOptions,
    work: str,
    language: str,
    max_unknown_words: float,
) -> Path:
    """Load the encoder to teach; one with random weights is trained by masked-language modelling first.

    Raises:
        EaseError: If the tokenizer does not know too many of the language's words.
    """
    from ease.encoders.encoder import load_encoder
    from ease.encoders.tokenizer import count_words, find_unknown_words

    setting = _starting_from(setting, encoder_choice)
    starting_encoder = make_start_encoder(sentences, setting, work)
    of_language = sentences.filter(sentences.language == language)
    words = count_words(drawn_sentences(of_language, setting), Language(language).locale)
    unknown = find_unknown_words(load_encoder(str(starting_encoder)), words)
    percent = 100 * unknown.share
    examples = ""
    if unknown.examples:
        examples = f" (such as {', '.join(unknown.examples)})"
    logger.info("The tokenizer does not know %.1f%% of the words of %s%s", percent, language, examples)
    if percent > max_unknown_words:
        raise EaseError(
            f"The tokenizer of {encoder_choice['encoder']} gives unknown tokens for {percent:.1f}% of the words of "
            f"{language}{examples}, more than `teach.max_unknown_words` {max_unknown_words:g}%: choose one that knows "
            "the script, such as sentence-transformers/LaBSE, or `teach.encoder=random:`, whose tokenizer is trained "
            "on the dumps."
        )
    if not setting.encoder.name.startswith(RANDOM):
        choose_prompt(starting_encoder, setting.dev_tasks, evaluation_data, tasks)
        return starting_encoder
    name = f"{setting.name}.{MLM}"
    lock = lock_for_run(Path(work) / name)
    complete = recipe.complete(setting.encoder.name, encoders)
    file, _ = gather_data(recipe, complete.training.seed, training_pairs, acquire, texts, lock.folder / "texts")
    data = TrainingData(
        encoder=starting_encoder,
        rows=open_gathered(file, texts),
        evaluation_data=evaluation_data,
        dumps=dumps,
        tasks=tasks,
        setting=setting,
    )
    result = train_tracked(name, data, complete, lock, None)
    # Like any starting encoder's file, this one names no run, so the encoder's scores are added to none.
    write_origin(result.model, None, setting.encoder)
    return result.model


def learn_letters(
    sentences: Table,
    sitelinks: Table,
    encoder_choice: dict[str, Any],
    starting_encoder: Path,
    evaluation_data: dict[str, Any],
    tasks: TaskParameters,
    options: RespellingOptions,
    setting: Setting,
    language: str,
    min_kept: float,
    kept_tasks: Sequence[str],
    kept_sentences: int,
    work: str,
) -> dict[str, Any]:
    """Measure which languages an encoder knows, and learn which letters of the new one it should read as others.

    Returns:
        The fields of `TaughtLetters`.
    """
    from ease.encoders.encoder import load_encoder
    from ease.encoders.encoding import encode_with
    from ease.encoders.respelling import learn_respelling

    if encoder_choice["encoder"].startswith(RANDOM):
        return TaughtLetters(reason="its tokenizer is trained on the language itself").model_dump(mode="json")
    encode = encode_with(load_encoder(str(starting_encoder)))
    retention = retention_tasks(kept_tasks, tasks, evaluation_data, kept_sentences)
    if not retention.keys() - {COUNTRY_NAMES}:
        logger.warning(
            "What the encoder keeps is measured by names of countries alone, which hardly see bad training: "
            "`acquire_evaluation.fetch=true` downloads sentences (docs/your_language.md)"
        )
    start_scores = score_retention(encode, retention)
    translations = find_name_pairs(sentences, sitelinks, setting, language)
    names = translations[translations["kind"] == NAME]
    # Names of every fifth item are held out, with the first sentences.
    is_held_out = names["entity"] % HELD_OUT_ITEMS == 0
    first_sentences = translations[translations["kind"] == FIRST_SENTENCE]
    held_out = [text_pairs(rows) for rows in (names[is_held_out], first_sentences)]
    of_language = sentences.filter(sentences.language == language)
    texts = list(drawn_sentences(of_language, setting))
    shuffled = names[~is_held_out].sample(frac=1, random_state=setting.encoder.seed)
    respelling = learn_respelling(starting_encoder, encode, texts, text_pairs(shuffled), held_out, options)
    letters = TaughtLetters(**respelling.model_dump(), start_scores=start_scores)
    if letters.helps:
        folder = scratch_for_run(work, f"{setting.name}.respelling") / "encoder"
        respell_start(starting_encoder, letters.pieces, folder)
        tasks = known_tasks(retention, start_scores, language)
        percent = share_kept(start_scores, score_retention(encode_with(load_encoder(str(folder))), tasks))
        shutil.rmtree(folder)
        letters = letters.model_copy(update={"kept": percent})
        if percent < min_kept:
            reason = f"only {percent:.1f}% of what the starting encoder knows of other languages would be kept"
            letters = letters.model_copy(update={"pieces": {}, "reason": reason})
    logger.info("Letters of %s that the encoder reads as others: %s", language, describe_letters(letters, letters.kept))
    return letters.model_dump(mode="json")


def respell_start(starting_encoder: Path, pieces: dict[str, str], folder: Path) -> Path:
    """Copy an encoder to a folder, with new pieces in its vocabulary."""
    from ease.encoders.vocabulary import add_pieces

    with atomic_folder(folder) as partial:
        shutil.copytree(starting_encoder, partial, dirs_exist_ok=True)
        add_pieces(partial, pieces)
    return folder


def teach_encoder(
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    encoding: EncodingOptions,
    tracking: TrackingOptions,
    work: str,
    accept: bool,
    train: bool | None,
    min_kept: float,
    kept_tasks: Sequence[str],
    kept_sentences: int,
    tasks: TaskParameters,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    encoder_choice: dict[str, Any],
    starting_encoder: Path,
    respelling: dict[str, Any],
    training_pairs: Table | None,
    vocabulary: Table,
    entity_embeddings: Path,
) -> tuple[Path, Rows]:
    """Let the encoder read the language's letters as those that it knows, and train it as `train_encoder` does.

    An encoder that knows most languages is not trained unless `train` says so: pairs of a sentence and its entities
    teach it topics, at the price of what it knows (docs/experiments.md). Batch and length fit the number of pairs.

    Args:
        accept: Whether `latest` links to the model even if it is the starting encoder, unchanged.
        train: Whether to train; None: if the starting encoder knows few languages.
        min_kept: Minimum share that a checkpoint keeps of the starting encoder's score on each of `kept_tasks`, in
            percent.
        kept_tasks: Tasks that measure what the starting encoder knows.
        kept_sentences: Maximum number of pairs of each of their subsets.
    """
    setting = _starting_from(setting, encoder_choice)
    letters = TaughtLetters.model_validate(respelling)
    if letters.helps:
        folder = scratch_for_run(work, f"{setting.name}.respelt") / "encoder"
        starting_encoder = respell_start(starting_encoder, letters.pieces, folder)
    if _decide_training(train, letters.country_names):
        pairs = int(require_pairs(training_pairs, setting).count().execute())
        recipe = fit_recipe(recipe, pairs, setting.encoder.name, encoders, setting.languages[1:])
        if not encoder_choice["encoder"].startswith(RANDOM):
            # A checkpoint that damages what the starting encoder knows is not the best one.
            tasks = {**tasks, AUDIT: {**tasks[AUDIT], "start": str(starting_encoder)}}
        retention = retention_tasks(kept_tasks, tasks, evaluation_data, kept_sentences)
        retention = known_tasks(retention, letters.start_scores, setting.languages[0])
        if retention and recipe.training.get("min_kept") is None:
            recipe = recipe.model_copy(update={"training": {**recipe.training, "min_kept": min_kept}})
        encoder, history = train_encoder(
            recipe=recipe,
            setting=setting,
            encoders=encoders,
            encoding=encoding,
            tracking=tracking,
            work=work,
            tasks=tasks,
            evaluation_data=evaluation_data,
            dumps=dumps,
            starting_encoder=starting_encoder,
            rows=training_pairs,
            vocabulary=vocabulary,
            entity_embeddings=entity_embeddings,
            retention=retention,
        )
    else:
        encoder = _save_starting_encoder(starting_encoder, letters, setting, dumps, work)
        history = Rows()
    is_unchanged = keeps_start(history) and not letters.helps
    if is_unchanged and not accept:
        withhold(encoder)
    return encoder, history


def _decide_training(train: bool | None, country_names: dict[str, float]) -> bool:
    """Return `teach.train`, or by default whether the starting encoder knows few languages; log a refusal."""
    if train is False:
        logger.info("The starting encoder is not trained (`teach.train=false`)")
        return False
    if train is None and is_multilingual(country_names):
        logger.info(
            "The starting encoder knows %d of %d large languages, so it is not trained (`teach.train`)",
            len(known_subsets(country_names)),
            len(country_names),
        )
        return False
    return True


def _save_starting_encoder(
    starting_encoder: Path, letters: TaughtLetters, setting: Setting, dumps: dict[str, Any], work: str
) -> Path:
    """Save an encoder that is not trained with its card, in an MLflow run."""
    from ease.encoders.encoder import load_encoder, save_encoder

    encoder = load_encoder(str(starting_encoder))
    spelling = {gain.letter: gain.replacement for gain in letters.letters}
    judgement = letters.model_dump(include={"held_out", "loss_before", "loss_after", "standard_errors", "kept"})
    name = f"{setting.name}.{RESPELLING}"
    parameters = {**flatten_options(setting, "setting"), "method": RESPELLING, "letters": str(spelling)}
    with training_run(name, parameters) as run_id:
        values = {key: float(value) for key, value in judgement.items() if value is not None}
        log_values(run_id, [(0, {**values, "pieces": float(len(letters.pieces))})])
    card = model_card(
        describe_data(RESPELLING, None, dumps, setting),
        method=RESPELLING,
        summary=(
            f"The starting encoder, with {len(letters.pieces)} pieces in its vocabulary that are spelt with the "
            "language's letters and have the embeddings of the pieces that they stand for; no weight was trained."
        ),
        parameters={"letters": spelling, **judgement},
    )
    folder = scratch_for_run(work, name) / "encoder"
    with atomic_folder(folder) as partial:
        save_encoder(encoder, partial, card)
        write_origin(partial, run_id, setting.encoder)
    return folder


def report_teaching(
    dumps: dict[str, Any],
    ingest_summary: dict[str, Any],
    entity_vocabulary: Table,
    training_pairs: Table,
    before: Rows,
    after: Rows,
    history: Rows,
    encoder_choice: dict[str, Any],
    respelling: dict[str, Any],
    setting: Setting,
    language: str,
    accept: bool,
    train: bool | None,
    min_kept: float,
    encoding: EncodingOptions,
    work: str,
) -> tuple[Path, DataFrame]:
    """Write one page with the scores before and after, the training data and the development curve.

    Returns:
        The page, in Markdown; the scores of each subset before and after.
    """
    letters = TaughtLetters.model_validate(respelling)
    scores = compare_before_after(before, after, language, encoding.cache)
    pairs = training_pairs.group_by("language").agg(pairs=training_pairs.count()).to_pandas()
    verdict = ""
    if keeps_start(history) and not letters.helps:
        verdict = explain_start(
            int(pairs.set_index("language")["pairs"].get(language, 0)), accept, trained=bool(history), train=train
        )
    caption = f"Before and after, in points of 100. {verdict.replace('**', '')}".rstrip()
    logger.info("%s\n%s", caption, format_table(summarize_kinds(scores)))
    log_table(scores, "teaching_scores")
    curve = learning_curve(history)
    dates = sorted({str(dump["dump_date"] or "unknown") for dump in dumps["wikipedia"]})
    types = "none (no Wikidata dump with types)"
    if dumps["wikidata"]:
        types = "by the items' types"
    facts = {
        "Start": describe_start(encoder_choice),
        "Companions": ", ".join(code for code in setting.languages if code != language),
        "Dumps": f"{dumps['source']}, dated {', '.join(dates)}",
        "Entities": f"{entity_vocabulary.count().execute():,}",
        "Languages that the starting encoder knows": describe_known(letters.country_names),
        f"Each must keep {min_kept:g}%": describe_retention(letters.start_scores, language),
        "Letters": describe_letters(letters, letters.kept),
        "Trained": describe_training(history, setting.dev_tasks, train),
        "Hard negatives": types,
    }
    languages = describe_languages(ingest_summary, pairs)
    page = scratch_for_run(work, f"{setting.name}.report") / "teaching.md"
    write_text_atomically(page, render_teaching(language, facts, languages, scores, curve, verdict))
    return page, scores
