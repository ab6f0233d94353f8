"""Make an audit of a setting: pairs of sentences of two languages from its own dumps, kept out of training."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ease.entities.audit import ANSWER, LEFT, AuditOptions, select_audit_sentences
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.lazy import ibis, pc, pd
from ease.pipelines.located_dumps import Dumps, has_items
from ease.pipelines.options import AUDIT_SET
from ease.pipelines.setting import Setting
from ease.pipelines.work import scratch_for_run
from ease.reporting.markdown_tables import format_table

logger = logging.getLogger(__name__)


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
            "wikis' page_props dumps beside the dumps, or a table of titles (`acquire.titles`)."
        )
    return select_audit_sentences(sentences, links, sitelinks, entity_types, setting.languages, options)


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
        subset_rows = frame[frame.subset == subset]
        # A pair has two answers, one on each side.
        pairs = subset_rows[(subset_rows.grade == ANSWER) & (subset_rows.side == LEFT)]
        counts = {
            "subset": subset,
            "pairs": len(pairs),
            "first_sentences": int((pairs.kind == "first").sum()),
            "equal_links": int((pairs.kind == "links").sum()),
            **{grade: int((subset_rows.grade == grade).sum()) for grade in ("same_page", "same_type")},
            "pages": len(subset_rows[["language", "page_id"]].drop_duplicates()),
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
