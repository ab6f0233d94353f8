"""The tables `sitelinks` and `entity_types` from page_props dumps and truthy statements."""

from __future__ import annotations

from ease.io.lazy import ir


def join_sitelinks(pages: ir.Table, page_items: ir.Table) -> ir.Table:
    """Return the titles of the pages (language, page_id, title; also repeated) that have an item in `page_items`.

    Returns:
        Columns qid, language, title, ordered by all of them.
    """
    joined = page_items.inner_join(pages, ["language", "page_id"])
    return joined.select("qid", "language", "title").distinct().order_by("qid", "language", "title")


def types_of_linked(statements: ir.Table, sitelinks: ir.Table) -> ir.Table:
    """Return the types of the items that have a sitelink; no link can lead to other items.

    Returns:
        Columns qid, type_qid, ordered by both.
    """
    linked = statements.semi_join(sitelinks, "qid")
    return linked.select("qid", "type_qid").distinct().order_by("qid", "type_qid")
