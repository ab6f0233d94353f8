"""Make an audit of a setting: titles and sentences of two languages from its own dumps, kept out of training."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ease.entities.audit import (
    ANSWER,
    AUDIT_ORDER,
    FIRST,
    LEFT,
    LINKS,
    NAME_TITLE,
    SAME_LINK,
    SAME_PAGE,
    SAME_TYPE,
    TITLE_KINDS,
    WORD_TITLE,
    AuditOptions,
    match_titles,
    select_audit_sentences,
)
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.lazy import Table, pc, pd
from ease.pipelines.audit.mteb_folder import write_mteb_folder
from ease.pipelines.located_dumps import Dumps, has_items
from ease.pipelines.options import AUDIT_SET
from ease.pipelines.setting import Setting
from ease.pipelines.work import scratch_for_run
from ease.reporting.markdown_tables import format_table

logger = logging.getLogger(__name__)


def find_audit_candidates(
    sentences: Table,
    links: Table,
    sitelinks: Table,
    entity_types: Table,
    dumps: Dumps,
    options: AuditOptions,
    setting: Setting,
) -> Table:
    """Find the sentences that the setting's audit can use."""
    if not has_items(dumps):
        raise EaseError(
            "An audit joins articles by their Wikidata items: give a Wikidata dump (`acquire.wikidata`), or the "
            "wikis' page_props dumps beside the dumps, or a table of titles (`acquire.titles`)."
        )
    return select_audit_sentences(sentences, links, sitelinks, entity_types, setting.languages, options)


def match_audit_titles(
    sentences: Table, sitelinks: Table, entity_types: Table, options: AuditOptions, setting: Setting
) -> Table:
    """Match the titles of the setting's languages with the pivot's."""
    return match_titles(sentences, sitelinks, entity_types, setting.languages, options)


def write_audit(
    audit: Table, options: AuditOptions, setting: Setting, work: str
) -> tuple[Table, Path, list[dict[str, Any]]]:
    """Write one file a subset, and return the pages to keep out of training.

    Returns:
        The pages of the audit (language, page_id); the folder of the files; a row for each subset with its numbers of
        sentence pairs, of pairs of each kind, of distractors of each grade, and of pages.
    """
    rows = audit.order_by(list(AUDIT_ORDER)).to_pyarrow()
    frame = rows.drop_columns(["text"]).to_pandas()
    subsets = [f"{language}-{options.pivot}" for language in setting.languages if language != options.pivot]
    summary = list[dict[str, Any]]()
    for subset in subsets:
        subset_rows = frame[frame.subset == subset]
        # A pair has two answers, one on each side.
        pairs = subset_rows[(subset_rows.grade == ANSWER) & (subset_rows.side == LEFT)]
        is_title = pairs.kind.isin(TITLE_KINDS)
        counts = {
            "subset": subset,
            "pairs": int((~is_title).sum()),
            "words": int((pairs.kind == WORD_TITLE).sum()),
            "names": int((pairs.kind == NAME_TITLE).sum()),
            "first_sentences": int((pairs.kind == FIRST).sum()),
            "equal_links": int((pairs.kind == LINKS).sum()),
            **{grade: int((subset_rows.grade == grade).sum()) for grade in (SAME_PAGE, SAME_LINK, SAME_TYPE)},
            "pages": len(subset_rows[_are_tested(subset_rows)][["language", "page_id"]].drop_duplicates()),
        }
        summary.append(counts)
    totals = {row["subset"]: row["pairs"] + row["words"] + row["names"] for row in summary}
    small = [f"{subset} {total}" for subset, total in totals.items() if total < options.min_pairs]
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
    pages = audit.filter(_are_tested(audit)).select("language", "page_id").distinct().order_by("language", "page_id")
    return pages, folder, summary


def write_audit_task(audit: Table, dumps: Dumps, options: AuditOptions, setting: Setting, work: str) -> Path:
    """Write the audit as a data set that MTEB loads as a task, with its card."""
    folder = scratch_for_run(work, f"{setting.name}.audit_task") / "audit_task"
    with report_write_errors(folder):
        folder.mkdir()
        write_mteb_folder(folder, audit.to_pandas(), dumps["wikipedia"], options.pivot)
    return folder


def _are_tested(audit: Any) -> Any:
    """Return which rows, of a table or a data frame, have pages that no training run may see.

    Titles are on no page. Pages that only link to an item may be trained on: their sentences are wrong answers.
    """
    return ~audit.kind.isin(list(TITLE_KINDS)) & (audit.grade != SAME_LINK)
