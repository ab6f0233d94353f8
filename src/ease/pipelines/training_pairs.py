"""From links to training pairs: a vocabulary, an audit, pairs with hard negatives, and initial entity embeddings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pyarrow.compute as pc
import pyarrow.parquet as pq
from kedro.pipeline import Pipeline
from safetensors.numpy import save_file

from ease.entities.audit import ANSWER, LEFT, AuditOptions, add_distractors, find_candidates, match_candidates
from ease.entities.embeddings import EmbeddingOptions, embed_entities, name_entities
from ease.entities.links import first_sentences, page_subjects
from ease.entities.negatives import (
    HardNegativeOptions,
    Mining,
    count_hard_negatives,
    draw_released_negatives,
    mine_hard_negatives,
)
from ease.entities.pairs import (
    PairOptions,
    add_further_entities,
    check_pairs_left,
    count_filters,
    filter_links,
    select_pairs,
)
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary, number_titles, with_min_link_count
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.io.lazy import ibis
from ease.io.names import UNTRAINED
from ease.pipelines.acquire import has_items, released_files
from ease.pipelines.acquire_evaluation.nodes import AUDIT_SET
from ease.pipelines.setting import Setting
from ease.pipelines.wiring import namespaced, step
from ease.pipelines.work import scratch_for_run
from ease.reporting.markdown_tables import format_losses, format_table
from ease.reporting.plots import plot_pair_funnel
from ease.wikimedia.dumps.files import DumpFile

logger = logging.getLogger(__name__)

Dumps = dict[str, Any]
TABLES = {name: name for name in ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")}
"""The `tables` of the nodes below"""


def make_vocabulary(
    links: ibis.Table, sitelinks: ibis.Table, dumps: Dumps, options: VocabularyOptions, setting: Setting
) -> ibis.Table:
    """Number the entities above `min_link_count`, or all titles of released pairs."""
    if released_files(dumps):
        return number_titles(links, sitelinks)
    options = with_min_link_count(options, links)
    vocabulary = build_vocabulary(links, sitelinks, options, setting.languages)
    if not vocabulary.count().execute():
        raise EaseError(
            f"`min_link_count` {options.min_link_count} leaves no entity: "
            f"none of the {links.count().execute()} resolved links leads to one that is linked more often. "
            "Lower it, or give larger dumps."
        )
    return vocabulary


def find_audit_candidates(
    sentences: ibis.Table,
    links: ibis.Table,
    sitelinks: ibis.Table,
    entity_types: ibis.Table,
    dumps: Dumps,
    options: AuditOptions,
    setting: Setting,
) -> ibis.Table:
    """Find the sentences that the setting's audit can use."""
    if options.pivot not in setting.languages or len(setting.languages) < 2:
        raise EaseError(
            f"An audit matches sentences of other languages with `audit.pivot` {options.pivot}, and the setting "
            f"{setting.name} has {', '.join(setting.languages)}: give it {options.pivot} and another language, or "
            "choose one of its languages as the pivot."
        )
    if not has_items(dumps):
        raise EaseError(
            "An audit joins articles by their Wikidata items: give a Wikidata dump (`acquire.wikidata`), or the "
            "wikis' page_props dumps beside the dumps."
        )
    return find_candidates(sentences, links, sitelinks, entity_types, setting.languages, options)


def write_audit(
    audit: ibis.Table, options: AuditOptions, setting: Setting, work: str
) -> tuple[ibis.Table, Path, list[dict[str, Any]]]:
    """Write one file a subset, and return the pages to keep out of training.

    Returns:
        The pages of the audit (language, page_id); the folder of the files; a row for each subset with its numbers of
        pairs, of pairs of each kind, of distractors of each grade, and of pages.
    """
    rows = audit.order_by(["subset", "pair_id", "side", "grade", "page_id", "sentence_index"]).to_pyarrow()
    frame = rows.drop_columns(["text"]).to_pandas()
    subsets = [f"{language}-{options.pivot}" for language in setting.languages if language != options.pivot]
    summary = list[dict[str, Any]]()
    for subset in subsets:
        own = frame[frame.subset == subset]
        pairs = own[(own.grade == ANSWER) & (own.side == LEFT)]
        counts = {
            "subset": subset,
            "pairs": len(pairs),
            "first_sentences": int((pairs.kind == "first").sum()),
            "equal_links": int((pairs.kind == "links").sum()),
            **{grade: int((own.grade == grade).sum()) for grade in ("same_page", "same_type")},
            "pages": len(own[["language", "page_id"]].drop_duplicates()),
        }
        summary.append(counts)
    small = [f"{row['subset']} {row['pairs']}" for row in summary if row["pairs"] < options.min_pairs]
    if small:
        raise EaseError(
            f"The audit would hold fewer than {options.min_pairs} pairs (`audit.min_pairs`): {', '.join(small)}. "
            "Remove these languages from `languages`, give larger dumps, raise `audit.pairs_per_item` or "
            "`audit.max_share`, or lower `audit.min_pairs`: with fewer pairs, the scores may choose a worse checkpoint."
        )
    folder = scratch_for_run(work, f"{setting.name}.audit") / AUDIT_SET
    with report_write_errors(folder):
        folder.mkdir()
        for subset in subsets:
            pq.write_table(rows.filter(pc.equal(rows["subset"], subset)), folder / f"{subset}.parquet")
    logger.info("The audit:\n%s", format_table(pd.DataFrame(summary)))
    pages = audit.select("language", "page_id").distinct().order_by("language", "page_id")
    return pages, folder, summary


def make_pairs(
    dumps: Dumps,
    options: PairOptions,
    negatives: HardNegativeOptions,
    setting: Setting,
    audit_pages: ibis.Table | None,
    **tables: ibis.Table,
) -> tuple[ibis.Table, pd.DataFrame, go.Figure]:
    """Select the setting's pairs; with `without: drop`, only pairs that have a hard negative.

    Returns:
        The pairs; how many each filter removed, as a table, also in the log, and as a plot. Pairs on excluded pages of
        the audit are not counted.
    """
    released = dumps["source"] if released_files(dumps) else None
    if options.released != released:
        raise EaseError(
            f"`pairs.released` is {options.released}, and `acquire` has located "
            f"{released or 'dumps'}: give every stage the same `pairs.released`, or run `acquire` and `ingest` again."
        )
    options = options.without_limits() if released else options
    sentences, linked = tables["sentences"], tables["links"]
    if options.sentences != "linking":
        items = tables["sitelinks"] if has_items(dumps) else None
        linked = first_sentences(sentences.filter(sentences.language.isin(list(setting.languages))), items)
    if options.without_audit:
        if audit_pages is None:
            raise EaseError(
                f"`{setting.name}.pairs.without_audit` is set, and the setting has no audit yet: make it by `kedro run "
                "--pipelines=audit`, or set the parameter to false."
            )
        linked = linked.anti_join(audit_pages, ["language", "page_id"])
        logger.info("%d pages of the audit are kept out of training", audit_pages.count().execute())
    mining = _mining(tables, dumps, negatives) if negatives.without == "drop" else None
    filtered = filter_links(sentences, linked, tables["entity_vocabulary"], options, mining)
    filtered = filtered.cache()  # read twice
    funnel = count_filters(filtered, options).to_pandas()
    check_pairs_left(funnel, options.min_pairs_per_language, setting.languages)
    logger.info(
        "Pairs left after each filter (only languages that lost some, and the total):\n%s",
        format_losses(funnel, "pairs", "left"),
    )
    return select_pairs(filtered, sentences, options), funnel, plot_pair_funnel(funnel)


def _mining(tables: dict[str, Any], dumps: Dumps, options: HardNegativeOptions) -> Mining | None:
    """Return the inputs of hard-negative mining; None without Wikidata's types."""
    if not dumps["wikidata"]:
        return None
    linked = tables["links"].select("language", "page_id", "entity")
    subjects = page_subjects(tables["sentences"], tables["sitelinks"])
    return Mining(linked.union(subjects), tables["entity_types"], options)


def add_hard_negatives(
    pairs: ibis.Table, dumps: Dumps, options: HardNegativeOptions, **tables: ibis.Table
) -> ibis.Table:
    """Add to each pair an entity of the same type that is not on the page; null without Wikidata's types.

    Of released pairs, it is drawn from the pair's own list. The pairs also get the other entities of their sentences
    and the subjects of their pages.
    """
    links, vocabulary = tables["links"], tables["entity_vocabulary"]
    if released_files(dumps):
        mined = draw_released_negatives(pairs, tables["entity_types"], options.seed)
    else:
        mined = mine_hard_negatives(pairs, _mining(tables, dumps, options), vocabulary)
    subjects = page_subjects(tables["sentences"], tables["sitelinks"])
    return add_further_entities(mined, links, subjects, vocabulary, options.seed)


def report_hard_negatives(pairs: ibis.Table, training_pairs: ibis.Table) -> list[dict[str, Any]]:
    """Count for each language the pairs with a hard negative, kept without one, and dropped."""
    counts = count_hard_negatives(pairs, training_pairs).to_pandas()
    logger.info(
        "Hard negatives (only languages with pairs that have none, and the total):\n%s",
        format_losses(counts, "pairs", "with_negative"),
    )
    return counts.to_dict(orient="records")


def make_entity_embeddings(
    entity_vocabulary: ibis.Table,
    sitelinks: ibis.Table,
    redirects: ibis.Table,
    dumps: Dumps,
    encoder: Path,
    options: EmbeddingOptions,
    setting: Setting,
    work: str,
) -> tuple[Path, dict[str, Any]]:
    """Make the initial entity embeddings, and report how many entities have a vector.

    Released pairs have no dump to train Wikipedia2Vec on: `source: train` then means random embeddings.

    Returns:
        A safetensors file with `embeddings`, (rows of the vocabulary, dimension of the encoder) float32; the report.
    """
    from ease.encoders.encoder import load_encoder

    if options.source == "train" and released_files(dumps):
        logger.warning(
            "Released pairs have no dump to train Wikipedia2Vec on: the entity embeddings are random. "
            "`entity_embeddings.source=file` reads published vectors."
        )
        options = options.model_copy(update={"source": "random"})
    # The paper uses vectors of the English Wikipedia; a setting without English uses its first language.
    language = "en" if "en" in setting.languages else setting.languages[0]
    links = sitelinks if has_items(dumps) else None
    names = name_entities(entity_vocabulary, links, redirects, language).to_pyarrow()
    total = int(entity_vocabulary.count().execute())
    tokens: Any = load_encoder(str(encoder))[0]
    dimension = tokens.get_embedding_dimension()
    files = [DumpFile.from_json(file) for file in dumps["wikipedia"]]
    folder = scratch_for_run(work, f"{setting.name}.entity_embeddings")
    table, found = embed_entities(names, total, dimension, files, options, folder, language)
    file = folder / "entity_embeddings.safetensors"
    with report_write_errors(file):
        save_file({"embeddings": table}, file)
    share = found / total if total else 0.0
    return file, {"source": options.source, "found": found, "total": total, "share": share}


def create_audit_pipeline(setting: str) -> Pipeline:
    """Create `audit` for one setting."""
    # Each table is saved: Spark would compute it again wherever a later one reads it.
    options, candidates = "params:audit", {"candidates": "audit_candidates"}
    nodes = [
        step(find_audit_candidates, "audit_candidates", options=options),
        step(match_candidates, "audit_answers", **candidates, options=options),
        step(add_distractors, "audit", answers="audit_answers", **candidates, options=options),
        step(write_audit, ["audit_pages", "audit_set", "audit_summary"], audit="audit", options=options),
    ]
    return namespaced(nodes, setting, "audit")


def create_pairs_pipeline(setting: str) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    # The audit is an input even if it is not excluded: Kedro then makes it first in a run that makes both.
    read = {"options": "params:pairs", "negatives": "params:hard_negatives", **TABLES}
    nodes = [
        step(make_vocabulary, "entity_vocabulary", options="params:vocabulary"),
        step(make_pairs, ["pairs", "pair_funnel", "pair_funnel_plot"], **read),
    ]
    return namespaced(nodes, setting, "entity_pairs")


def create_negatives_pipeline(setting: str) -> Pipeline:
    """Create `hard_negatives` for one setting."""
    nodes = [
        step(add_hard_negatives, "training_pairs", options="params:hard_negatives", **TABLES),
        step(report_hard_negatives, "hard_negative_summary"),
    ]
    return namespaced(nodes, setting, "hard_negatives")


def create_embeddings_pipeline(setting: str, own: str = "") -> Pipeline:
    """Create `entity_embeddings` for one setting; `own` is a parameter of the project that the setting overrides."""
    read = {"encoder": f"{setting}.{UNTRAINED}.encoder", "options": "params:entity_embeddings"}
    made = step(make_entity_embeddings, ["entity_embeddings", "embedding_coverage"], **read)
    return namespaced([made], setting, "entity_embeddings", own=own)
