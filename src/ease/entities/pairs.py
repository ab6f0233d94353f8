"""Sentence–entity pairs: selection, further entities of a sentence, and permuted entities as a control."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field, model_validator

from ease.entities.hashing import as_int64, draw, hash_text, take_first
from ease.entities.links import SENTENCE_KEY, holes_of
from ease.entities.negatives import MiningInputs, have_negatives
from ease.errors import EaseError
from ease.lazy import ibis, ir, pd
from ease.options import StrictModel, check_limits

PAIR_KEY = (*SENTENCE_KEY, "entity")
"""Columns that identify a pair"""
MAX_FURTHER = 15
"""Further entities kept for a sentence; a sentence of 1,000 characters rarely links to more."""


def add_further_entities(
    pairs: ir.Table, links: ir.Table, subjects: ir.Table, vocabulary: ir.Table, seed: int
) -> ir.Table:
    """Add the other entities that each pair's sentence links to, with or without pairs of their own.

    Args:
        pairs: Pairs of a sentence and an entity with a unique `pair_id`.
        links: All links of the sentences: language, page_id, sentence_index, entity.
        subjects: The entity of each page: language, page_id, entity.
        vocabulary: The entities that can be positives.
        seed: Seed of the order, which also decides what a sentence with more than `MAX_FURTHER` entities keeps.

    Returns:
        The pairs with the columns further_entities (an array in seeded order; null if the sentence has no other
        entity) and subject (the page's entity; null if it is not in the vocabulary, or the sentence links to it),
        ordered by pair_id.
    """
    positives = vocabulary.select("entity")
    linked = links.select(*SENTENCE_KEY, other="entity").distinct()
    linked = linked.semi_join(positives, linked.other == positives.entity)
    other_entities = pairs.select("pair_id", "entity", *SENTENCE_KEY).inner_join(linked, SENTENCE_KEY)
    other_entities = other_entities.filter(other_entities.other != other_entities.entity)
    # Sorted as structs: an engine's `collect` has no order of its own.
    entry = ibis.struct(
        {"ticket": draw(seed, other_entities.pair_id, other_entities.other), "entity": other_entities.other}
    )
    further = other_entities.group_by("pair_id").agg(entries=entry.collect().sort()[:MAX_FURTHER])
    further = further.select("pair_id", further_entities=further.entries.map(lambda struct: struct.entity))
    subject = subjects.semi_join(positives, "entity").select("language", "page_id", subject="entity")

    joined = pairs.left_join(further, "pair_id").drop("pair_id_right")
    joined = joined.left_join(subject, ["language", "page_id"])
    in_further = joined.further_entities.contains(joined.subject).coalesce(False)
    is_linked = (joined.subject == joined.entity) | in_further
    # A subject that the sentence links to is among its entities already.
    unlinked_subject = is_linked.ifelse(ibis.null("int64"), joined.subject)
    return joined.select(*pairs.columns, "further_entities", subject=unlinked_subject).order_by("pair_id")


def permute_entities(training_pairs: ir.Table, vocabulary: ir.Table, seed: int) -> ir.Table:
    """Replace entities by a random permutation of the vocabulary, a different one in each language.

    Two sentences of one language share an entity exactly if they did before; across languages, shared entities carry
    no information any more.

    The columns `entity`, `hard_negative`, `further_entities` and `subject` are permuted if the pairs have them; the
    rows are ordered by pair_id.
    """
    languages = training_pairs.select("language").distinct()
    # In a column of its own: a draw repeats its keys, and Spark plans each repetition of a hash for seconds.
    hashed = languages.mutate(language_key=hash_text(languages.language))
    members = hashed.cross_join(vocabulary.select("entity"))
    ticket = draw(seed, members.language_key, members.entity)
    # In each language, the i-th entity by number is replaced by the i-th by ticket.
    numbered = members.mutate(
        place=ibis.row_number().over(group_by=members.language, order_by=members.entity),
        turn=ibis.row_number().over(group_by=members.language, order_by=[ticket, members.entity]),
    )
    shuffled = numbered.select("language", place="turn", other="entity")
    replacements = numbered.inner_join(shuffled, ["language", "place"]).select("language", "entity", "other")
    pairs = training_pairs
    for column in ("entity", "hard_negative", "subject"):
        if column in pairs.columns:
            joined = pairs.left_join(replacements.rename({column: "entity"}), ["language", column])
            columns = {name: joined[name] for name in pairs.columns}
            pairs = joined.select(**{**columns, column: joined.other})
    if "further_entities" in pairs.columns:
        pairs = _permute_arrays(pairs, replacements)
    return pairs.order_by("pair_id")


def _permute_arrays(pairs: ir.Table, replacements: ir.Table) -> ir.Table:
    """Replace the elements of `further_entities`, each array in its order."""
    elements = pairs.mutate(place=ibis.range(0, pairs.further_entities.length()).unnest())
    single = elements.select("pair_id", "language", "place", entity=elements.further_entities[elements.place])
    single = single.inner_join(replacements, ["language", "entity"])
    # Sorted by place, since a join loses the order.
    entry = ibis.struct({"place": single.place, "entity": single.other})
    entries = single.group_by("pair_id").agg(entries=entry.collect().sort())
    arrays = entries.select("pair_id", further_entities=entries.entries.map(lambda struct: struct.entity))
    return pairs.drop("further_entities").left_join(arrays, "pair_id").select(*pairs.columns)


# By the names of `pairs_with_filters`, in its order: what removed a pair, as a message says it.
_FILTERS = {
    "rare_entity": "by `min_link_count` (their entity has too few links)",
    "too_short": "by `min_characters`",
    "too_long": "by `max_characters`",
    "hole": "by `holes: drop` (a word of an unknown template is missing in their sentence)",
    "no_negative": "by `hard_negatives.without: drop` (no other entity of their type)",
}


class PairOptions(StrictModel):
    """Which pairs of a sentence and a linked entity are kept."""

    sentences: Literal["linking", "first"] = Field(
        "linking",
        description="linking: a sentence and each entity that it links to; first: the first sentence of a page and the "
        "page's own entity (footnote 2 of EASE's paper)",
    )
    # Neither limit is from the paper: they drop fragments, and lists that the splitter takes for one sentence.
    min_characters: int = Field(10, ge=1, description="shorter sentences are dropped")
    max_characters: int = Field(1000, ge=1, description="longer sentences are dropped")
    holes: Literal["drop", "keep"] = Field(
        "drop",
        description="whether to drop sentences in which a word of an unknown template may be missing (docs/links.md)",
    )
    max_pairs_per_entity: int | None = Field(
        None, ge=1, description="maximum pairs of one entity in one language; null: no maximum"
    )
    max_pairs_per_language: int | None = Field(
        50_000, ge=1, description="pairs sampled per language after all filters; null: all"
    )
    without_audit: bool = Field(
        False, description="exclude the pages of the setting's audit, the test set made from links"
    )
    min_pairs_per_language: int = Field(0, ge=0, description="a run is refused if fewer pairs of a language are left")
    seed: int = Field(0, ge=0, description="seed of the pairs that the maximum and the sampling keep")
    released: str | None = Field(
        None,
        description="pairs in the form of those that EASE's authors released, which the pipeline `released_pairs` "
        "reads instead of dumps: a file, a glob or an https address; all of them are kept",
    )

    @model_validator(mode="after")
    def _check_limits(self) -> PairOptions:
        check_limits(self, "characters")
        return self

    def without_limits(self) -> PairOptions:
        """Return options that keep every pair, as for released pairs, which their authors have sampled."""
        return PairOptions(min_characters=1, max_characters=sys.maxsize, max_pairs_per_language=None)


def pairs_with_filters(
    sentences: ir.Table, links: ir.Table, vocabulary: ir.Table, options: PairOptions, mining: MiningInputs | None = None
) -> ir.Table:
    """Return each pair of a sentence and a linked entity once, with the first filter that removes it.

    Args:
        sentences: The ingested sentences.
        links: Their links, as `resolve_links` returns them, or their subjects, as `first_sentences` returns them.
        vocabulary: As `build_vocabulary` returns it for the links.
        options: Limits of the texts' lengths, and whether sentences with holes are dropped.
        mining: Inputs of the search for hard negatives, to drop pairs without one; None keeps them.

    Returns:
        Columns language, page_id, sentence_index, entity, removed_by (a key of `_FILTERS`; null for pairs that are
        left).
    """
    frequent = vocabulary.select("entity", "row")
    lengths = sentences.select(*SENTENCE_KEY, characters=sentences.text.length(), holes=holes_of(sentences))
    pairs = links.select(*PAIR_KEY).distinct().inner_join(lengths, list(SENTENCE_KEY))
    pairs = pairs.select(*PAIR_KEY, "characters", "holes").left_join(frequent, "entity")
    removed_by = ibis.cases(
        (pairs.row.isnull(), "rare_entity"),
        (pairs.characters < options.min_characters, "too_short"),
        (pairs.characters > options.max_characters, "too_long"),
        ((pairs.holes > 0) & (options.holes == "drop"), "hole"),
    )
    filtered = pairs.select(*PAIR_KEY, removed_by=removed_by)
    if mining is None:
        return filtered
    # Before the cap and the sample, so that these draw from pairs that can be trained on.
    passed = filtered.filter(filtered.removed_by.isnull())
    with_negative = have_negatives(passed, mining, vocabulary).mutate(has_negative=True)
    joined = filtered.left_join(with_negative, ["language", "page_id", "entity"])
    no_negative = joined.has_negative.isnull().ifelse("no_negative", ibis.null("string"))
    return joined.select(*PAIR_KEY, removed_by=joined.removed_by.coalesce(no_negative))


def select_pairs(filtered: ir.Table, sentences: ir.Table, options: PairOptions) -> ir.Table:
    """Select the sentence–entity pairs to train on: at most so many per entity, then a sample per language.

    The sample depends on the seed and the pairs' keys, not on the order of rows or the engine. The cap and the sample
    are drawn after all filters, so a language has the requested number of pairs if enough are left.

    Returns:
        Columns pair_id (0 to n - 1, in the order of language, page_id, sentence_index and entity), language, page_id,
        sentence_index, sentence, entity; ordered by pair_id.
    """
    pairs = filtered.filter(filtered.removed_by.isnull()).select(*PAIR_KEY)
    pairs = pairs.mutate(ticket=draw(options.seed, pairs.page_id, pairs.sentence_index, pairs.entity))
    for groups, limit in (
        (["language", "entity"], options.max_pairs_per_entity),
        (["language"], options.max_pairs_per_language),
    ):
        if limit is not None:
            pairs = take_first(pairs, groups, ["ticket", *PAIR_KEY], limit)
    texts = sentences.select(*SENTENCE_KEY, sentence="text")
    # Numbered without the texts: Spark orders all rows of this window in a single task.
    numbered = pairs.select(*PAIR_KEY, pair_id=as_int64(ibis.row_number().over(order_by=PAIR_KEY)))
    with_texts = numbered.inner_join(texts, list(SENTENCE_KEY))
    return with_texts.select("pair_id", *SENTENCE_KEY, "sentence", "entity").order_by("pair_id")


def count_filters(filtered: ir.Table, options: PairOptions) -> ir.Table:
    """Count each language's pairs, those that each filter removed first, and those left.

    Returns:
        Columns language, pairs, rare_entity, too_short, too_long, hole, no_negative, over_entity_cap,
        over_language_limit, left.
    """
    # By entity first, since the cap counts an entity's pairs.
    by_entity = filtered.group_by("language", "entity").agg(
        pairs=filtered.count(),
        **{name: filtered.count(where=filtered.removed_by == name) for name in _FILTERS},
        passed=filtered.count(where=filtered.removed_by.isnull()),
    )
    capped = by_entity.passed
    if options.max_pairs_per_entity is not None:
        capped = ibis.least(capped, options.max_pairs_per_entity)
    by_entity = by_entity.mutate(capped=capped)
    names = ("pairs", *_FILTERS, "passed", "capped")
    funnel = by_entity.group_by("language").agg(**{name: as_int64(by_entity[name].sum()) for name in names})
    left = funnel.capped
    if options.max_pairs_per_language is not None:
        left = ibis.least(left, options.max_pairs_per_language)
    cut = {"over_entity_cap": funnel.passed - funnel.capped, "over_language_limit": funnel.capped - left}
    return funnel.select("language", "pairs", *_FILTERS, **cut, left=left).order_by("language")


def check_pairs_left(funnel: pd.DataFrame, minimum: int = 0, languages: Sequence[str] = ()) -> None:
    """Check that a pair is left, and at least `minimum` pairs of each language.

    The funnel is as `count_filters` returns it; `languages` are those that have sentences.

    Raises:
        EaseError: If too few pairs are left; the message names the filters that removed pairs, and their parameters.
    """
    counts = funnel.drop(columns="language").sum().astype(int)
    if not counts["pairs"]:
        raise EaseError(
            "No link of any sentence leads to an entity: check that the dumps are of the languages in `languages`, and "
            "that the Wikidata dump has items of these Wikipedias."
        )
    if not counts["left"]:
        raise EaseError(
            f"None of {counts['pairs']} pairs of a sentence and an entity is left; removed: {_removals(counts)}. Relax "
            "these limits, or use larger dumps."
        )
    rows = {row["language"]: row for row in funnel.to_dict("records")}
    for language in languages or rows:
        # A language none of whose links leads to an entity has no row.
        row = rows.get(language, dict.fromkeys(funnel.columns, 0))
        if row["left"] < minimum:
            raise EaseError(
                f"Only {row['left']} of {row['pairs']} pairs of a sentence and an entity are left for {language}, "
                f"fewer than `min_pairs_per_language` {minimum}; removed: {_removals(row)}. Relax these limits, or use "
                "a larger dump; if few links resolve, check that its page_props table is of the same date as the dump."
            )


def _removals(counts: Mapping[str, int]) -> str:
    """Return how many pairs each filter removed, and the filters' parameters, for a message."""
    reasons = (f"{counts[name]} {reason}" for name, reason in _FILTERS.items() if counts[name])
    return "; ".join(reasons) or "none"


_SENTENCES_IN_MEMORY = 8192


def sample_sentences(pairs: ir.Table, rows: int | None, seed: int) -> Iterator[str]:
    """Yield at most `rows` distinct sentences in an order that depends only on the seed and the sentences."""
    sentences = pairs.select("sentence").distinct()
    # In a column of its own, since a draw repeats the expressions of its keys.
    hashed = sentences.mutate(key=hash_text(sentences.sentence))
    sample = hashed.order_by([draw(seed, hashed.key), hashed.sentence]).limit(rows).select("sentence")
    for batch in sample.to_pyarrow_batches(chunk_size=_SENTENCES_IN_MEMORY):
        yield from batch.column("sentence").to_pylist()
