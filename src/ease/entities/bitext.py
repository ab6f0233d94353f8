"""Candidates for parallel sentences: pairs that share a linked entity, or whose pages are about one item."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from ease.entities.hashing import as_int64
from ease.entities.links import SENTENCE_KEY, check_limits, page_subjects
from ease.errors import EaseError
from ease.lazy import ibis, ir
from ease.options import StrictModel

LanguagePair = tuple[str, str]


class CandidateOptions(StrictModel):
    """Which languages are compared, and which of their sentences."""

    pivot: str = Field("en", description="the language that is compared with every other one")
    languages: tuple[str, ...] | None = Field(
        None, min_length=1, description="languages to compare; null: all languages of the setting"
    )
    min_characters: int = Field(10, ge=1, description="shorter sentences are dropped")
    max_characters: int = Field(1000, ge=1, description="longer sentences are dropped")
    max_sentences_per_entity: int = Field(
        50,
        ge=1,
        description="an entity that more sentences of one language link to gives no candidates: their number grows "
        "with the square of the sentences",
    )
    max_sentences_per_page: int = Field(
        400,
        ge=1,
        description="the item of a page with more sentences gives no candidates; the entities that its sentences link "
        "to still do",
    )

    @model_validator(mode="after")
    def _check_limits(self) -> CandidateOptions:
        check_limits(self, "characters")
        return self


def language_pairs(languages: Sequence[str], options: CandidateOptions) -> list[LanguagePair]:
    """Return the pairs of languages to compare: the pivot and each other one.

    Raises:
        EaseError: If a language is not one of the setting's `languages`, or there are fewer than two.
    """
    chosen = sorted(set(options.languages or languages))
    if unknown := sorted({*chosen, options.pivot}.difference(languages)):
        raise EaseError(
            f"`mine_bitext` names {', '.join(unknown)}, but the setting's languages are {', '.join(languages)}: choose "
            "`pivot` and `languages` among these, or change `setting.languages`."
        )
    if not (others := [language for language in chosen if language != options.pivot]):
        raise EaseError(
            f"`mine_bitext` compares sentences of two languages, and there is only {options.pivot}: name more in "
            "`mine_bitext.languages` or `setting.languages`."
        )
    return [(options.pivot, other) for other in others]


def number_sentences(
    sentences: ir.Table, sitelinks: ir.Table, pairs: Sequence[LanguagePair], options: CandidateOptions
) -> ir.Table:
    """Number the sentences to compare, in each language from 0, in the order of their pages.

    Returns:
        Columns language, row, page_id, page_title, revision_id, sentence_index, text, entity (the page's item; null
        without one), ordered by language and row.
    """
    languages = sorted({language for pair in pairs for language in pair})
    length = sentences.text.length()
    chosen = sentences.filter(
        sentences.language.isin(languages), length >= options.min_characters, length <= options.max_characters
    )
    joined = chosen.drop("links").left_join(page_subjects(sentences, sitelinks), ["language", "page_id"])
    row = as_int64(ibis.row_number().over(group_by="language", order_by=["page_id", "sentence_index"]))
    columns = ("page_id", "page_title", "revision_id", "sentence_index", "text", "entity")
    return joined.mutate(row=row).select("language", "row", *columns).order_by("language", "row")


def find_candidates(
    numbered: ir.Table, links: ir.Table, pairs: Sequence[LanguagePair], options: CandidateOptions
) -> ir.Table:
    """Return the pairs of sentences of two languages that share an entity, or whose pages share an item.

    The limits of the options exclude frequent entities and long pages.

    Returns:
        Columns left_language, right_language, left, right (rows of the sentences), each pair once, ordered by all.
    """
    known = numbered.filter(numbered.entity.notnull())
    on_pages = known.select("language", "row", "entity", shares=ibis.literal("page"))
    linked = links.select(*SENTENCE_KEY, "entity").distinct()
    linked = linked.inner_join(numbered.select(*SENTENCE_KEY, "row"), SENTENCE_KEY)
    linking = linked.select("language", "row", "entity", shares=ibis.literal("link"))
    limits = (on_pages, options.max_sentences_per_page), (linking, options.max_sentences_per_entity)
    parts = []
    for part, limit in limits:
        counts = part.group_by("language", "entity").agg(number=part.count())
        few = counts.filter(counts.number <= limit)
        parts.append(part.semi_join(few, ["language", "entity"]))
    shared = ibis.union(*parts)
    left, right = (
        shared.filter(shared.language.isin(list(own))).rename({f"{side}_language": "language", side: "row"})
        for side, own in zip(("left", "right"), zip(*pairs, strict=True), strict=True)
    )
    both = left.inner_join(right, ["entity", "shares"])
    columns = ("left_language", "right_language", "left", "right")
    return both.select(*columns).distinct().order_by(*columns)
