"""Candidates for parallel sentences: pairs that share a linked entity, or whose pages are about one item."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from ease.entities.hashing import as_int64
from ease.entities.links import SENTENCE_KEY, holes_of, page_subjects
from ease.errors import EaseError
from ease.lazy import ibis, ir
from ease.options import StrictModel, check_limits

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
        "with the square of the number of sentences",
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
    compared = sorted(set(options.languages or languages))
    if unknown := sorted({*compared, options.pivot}.difference(languages)):
        raise EaseError(
            f"`mine_bitext` names {', '.join(unknown)}, but the setting's languages are {', '.join(languages)}: choose "
            "`pivot` and `languages` among these, or change `setting.languages`."
        )
    partners = [language for language in compared if language != options.pivot]
    if not partners:
        raise EaseError(
            f"`mine_bitext` compares sentences of two languages, and there is only {options.pivot}: name more in "
            "`mine_bitext.languages` or `setting.languages`."
        )
    return [(options.pivot, partner) for partner in partners]


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
    compared = sentences.filter(
        sentences.language.isin(languages),
        length >= options.min_characters,
        length <= options.max_characters,
        # A sentence without one of its words is no translation of another.
        holes_of(sentences) == 0,
    )
    # Subjects of all sentences, not of those compared: a page's subject is that of its first sentence, which may be
    # too short or too long itself.
    subjects = page_subjects(sentences, sitelinks)
    joined = compared.drop("links").left_join(subjects, ["language", "page_id"])
    row = as_int64(ibis.row_number().over(group_by="language", order_by=["page_id", "sentence_index"]))
    columns = ("page_id", "page_title", "revision_id", "sentence_index", "text", "entity")
    return joined.mutate(row=row).select("language", "row", *columns).order_by("language", "row")


def candidate_pairs(
    numbered: ir.Table, links: ir.Table, pairs: Sequence[LanguagePair], options: CandidateOptions
) -> ir.Table:
    """Return the sentence pairs of two languages that share an entity, or whose pages share an item.

    The limits of the options exclude frequent entities and long pages.

    Returns:
        Columns left_language, right_language, left, right (rows of the sentences), each pair once, ordered by all.
    """
    with_item = numbered.filter(numbered.entity.notnull())
    on_pages = with_item.select("language", "row", "entity", shares=ibis.literal("page"))
    linked = links.select(*SENTENCE_KEY, "entity").distinct()
    linked = linked.inner_join(numbered.select(*SENTENCE_KEY, "row"), SENTENCE_KEY)
    linking = linked.select("language", "row", "entity", shares=ibis.literal("link"))
    parts = []
    # Each sentence of one language is paired with each of the other's: candidates grow with the square of a group.
    for part, limit in (
        (on_pages, options.max_sentences_per_page),
        (linking, options.max_sentences_per_entity),
    ):
        counts = part.group_by("language", "entity").agg(number=part.count())
        few = counts.filter(counts.number <= limit)
        parts.append(part.semi_join(few, ["language", "entity"]))
    shared = ibis.union(*parts)
    left_languages, right_languages = zip(*pairs, strict=True)
    left = shared.filter(shared.language.isin(list(left_languages))).rename(left_language="language", left="row")
    right = shared.filter(shared.language.isin(list(right_languages))).rename(right_language="language", right="row")
    sharing = left.inner_join(right, ["entity", "shares"])
    columns = ("left_language", "right_language", "left", "right")
    # Two sentences that share several entities are one candidate.
    return sharing.select(*columns).distinct().order_by(*columns)
