"""Texts of one item in two languages: names, and first sentences of articles."""

from __future__ import annotations

from ease.entities.links import title_items
from ease.lazy import ibis, ir

NAME = "name"
"""Kind of a title, or of a link's text, with the title of the same item"""
FIRST_SENTENCE = "first_sentence"
"""Kind of the first sentences of two articles on the same item"""


def find_translations(sentences: ir.Table, sitelinks: ir.Table, language: str, pivot: str) -> ir.Table:
    """Return what the articles of two wikis say of the same items, without parallel text.

    Names are the titles of articles and the texts of links to them, in the language, each with the title in the other
    language; names that are equal in both languages, in upper or lower case, say nothing and are left out, like names
    that begin with a digit.

    Returns:
        Columns kind (`NAME` or `FIRST_SENTENCE`), entity, text (of the language) and translation (of the pivot); a
        text of a kind occurs once.
    """
    titles = title_items(sitelinks)
    in_language = titles.filter(titles.language == language).select("title", "entity")
    in_pivot = titles.filter(titles.language == pivot).select("entity", pivot_title=titles.title)
    # An item may have two titles in a wiki, of a page and of a redirect that the table also names.
    in_pivot = in_pivot.group_by("entity").agg(pivot_title=in_pivot.pivot_title.min())
    shared = in_language.inner_join(in_pivot, "entity")
    of_language = sentences.filter(sentences.language == language)
    names = ibis.union(_titles(shared), _link_texts(of_language, shared))
    names = names.filter(
        (names.text.lower() != names.translation.lower()) & (names.text.length() > 1) & ~names.text.re_search(r"^\d")
    )
    return ibis.union(_once(names, NAME), _once(_first_sentences(sentences, shared, language, pivot), FIRST_SENTENCE))


def _titles(shared: ir.Table) -> ir.Table:
    return shared.select(
        "entity", text=_without_qualifier(shared.title), translation=_without_qualifier(shared.pivot_title)
    )


def _link_texts(of_language: ir.Table, shared: ir.Table) -> ir.Table:
    """Return the texts of links, which are inflected as the sentence needs it."""
    links = of_language.select("text", link=of_language.links.unnest())
    texts = links.select(
        text=links.text.substr(links.link.start, links.link.end - links.link.start), title=links.link.target
    )
    joined = texts.inner_join(shared, "title")
    return joined.select("entity", "text", translation=_without_qualifier(joined.pivot_title))


def _first_sentences(sentences: ir.Table, shared: ir.Table, language: str, pivot: str) -> ir.Table:
    first = sentences.filter(sentences.sentence_index == 0)
    left = first.filter(first.language == language).select("text", title=first.page_title)
    right = first.filter(first.language == pivot).select(translation=first.text, pivot_title=first.page_title)
    joined = left.inner_join(shared, "title").inner_join(right, "pivot_title")
    return joined.select("entity", "text", "translation")


def _without_qualifier(title: ir.StringValue) -> ir.StringValue:
    """Remove what tells titles apart: `Mercury (planet)`."""
    return title.re_replace(r"\s*\([^)]*\)$", "")


def _once(rows: ir.Table, kind: str) -> ir.Table:
    """Keep one row of each text: that of the item with the lowest number, on every engine."""
    first = rows.group_by("text").agg(entity=rows.entity.min())
    joined = rows.inner_join(first, ["text", "entity"])
    single = joined.group_by("text", "entity").agg(translation=joined.translation.min())
    return single.select("entity", "text", "translation", kind=ibis.literal(kind))
