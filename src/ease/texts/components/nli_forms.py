"""Triplets and pairs made from rows of inferences; draws are integer hashes of the seed and the rows' numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ease.entities.hashing import draw
from ease.entities.ibis_workarounds import as_table
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.texts.components.nli_files import CONTRADICTION, ENTAILMENT
from ease.texts.components.random_pairs import random_pairs

if TYPE_CHECKING:
    import ibis.expr.types as ir

_SENTENCE, _POSITIVE, _NEGATIVE, _PARTNER, _LEFT, _RIGHT = range(6)
"""Identifiers of the draws, which make them independent."""


def check_distinct(rows: ir.Table, path: Path) -> None:
    """Check that each language has each pair once, so that languages can be joined."""
    twice = rows.group_by("language", "pair").agg(rows=rows.count())
    found = twice.filter(twice.rows > 1).order_by(["language", "pair"]).limit(1).to_pyarrow().to_pylist()
    if found:
        language, pair, times = (found[0][name] for name in ("language", "pair", "rows"))
        raise EaseError(
            f"{path}: the pair {pair} (pairID) occurs {times} times in {language!r}, so its translations are "
            "ambiguous: remove one row, or read each part on its own."
        )


def triplets(rows: ir.Table, reference: str | None, seed: int, each_premise: bool = False) -> ir.Table:
    """Return each entailment with its premise and a contradiction of the same premise.

    The n-th entailment of a premise gets its n-th contradiction, starting over if there are fewer contradictions.

    Args:
        rows: As `SCHEMA` says.
        reference: None for triplets of one language. Otherwise the language of each text is drawn from those that have
            it, and premises without a number are identified by their text in the reference language.
        seed: Seed of the draws.
        each_premise: Return a triplet for the premise in each language; only the other two languages are drawn.

    Returns:
        Columns key, sentence, positive, negative (null if the premise has no contradiction).
    """
    numbered = _by_language(_with_prompt(rows, reference), apart=reference is None)
    pairs = numbered.group_by("pair").agg(
        prompt=numbered.prompt.min(),
        label=numbered.label.min(),
        key=numbered.row.min(),
        languages=numbered.count(),
    )
    place = ibis.row_number().over(group_by=[pairs.prompt, pairs.label], order_by=pairs.key)
    pairs = pairs.mutate(place=place)
    contradictions = pairs.filter(pairs.label == CONTRADICTION)
    counts = contradictions.group_by("prompt").agg(contradictions=contradictions.count())
    entailments = pairs.filter(pairs.label == ENTAILMENT).left_join(counts, "prompt")
    entailments = as_table(
        entailments.select(
            "key", "pair", "prompt", "languages", nth=entailments.place % entailments.contradictions
        )
    )
    if each_premise:
        given = numbered.select("pair", key="row", first="number")
        wanted = as_table(entailments.drop("key").inner_join(given, "pair"))
    else:
        first = draw(seed, entailments.key, ibis.literal(_SENTENCE)) % entailments.languages
        wanted = entailments.mutate(first=first)
    others = contradictions.select("prompt", nth="place", other="pair", other_languages="languages")
    joined = wanted.left_join(others, ["prompt", "nth"])
    drawn = joined.select(
        "key",
        "pair",
        "other",
        "first",
        second=draw(seed, joined.key, ibis.literal(_POSITIVE)) % joined.languages,
        third=draw(seed, joined.key, ibis.literal(_NEGATIVE)) % joined.other_languages,
    )
    premises = numbered.select("pair", first="number", sentence="premise")
    hypotheses = numbered.select("pair", second="number", positive="hypothesis")
    negatives = numbered.select(other="pair", third="number", negative="hypothesis")
    whole = as_table(as_table(drawn).inner_join(premises, ["pair", "first"]))
    whole = as_table(whole.inner_join(hypotheses, ["pair", "second"]))
    return whole.left_join(negatives, ["other", "third"]).select("key", "sentence", "positive", "negative")


def _with_prompt(rows: ir.Table, reference: str | None) -> ir.Table:
    """Identify the premise of each row by its number, else by its text (in the reference language, if given)."""
    if reference is None:
        return rows.mutate(prompt=rows.prompt.coalesce(rows.premise))
    named = rows.filter(rows.language == reference).select("pair", named="premise")
    joined = rows.left_join(named, "pair").select(*rows.columns, "named")
    # A pair that the reference language does not have is a separate premise.
    return joined.mutate(prompt=joined.prompt.coalesce(joined.named, joined.pair)).drop("named")


def _by_language(rows: ir.Table, apart: bool) -> ir.Table:
    """Number the rows of each pair by language; with `apart`, each language's pairs are separate pairs."""
    if apart:
        rows = rows.mutate(pair=rows.row.cast("string"), prompt=rows.language + "\t" + rows.prompt)
    number = ibis.row_number().over(group_by=rows.pair, order_by=rows.language)
    return rows.mutate(number=number)


def premise_hypothesis(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Return every premise with its hypothesis; if cross-lingual, also with the hypothesis in another language.

    Two languages give the four rows of DuEAM's Table 9; with more languages, the other language is drawn.

    Returns:
        Columns key, sentence, positive.
    """
    own = rows.select(key=rows.row * 2, sentence=rows.premise, positive=rows.hypothesis)
    if not cross_lingual:
        return own
    numbered = _by_language(rows, apart=False)
    languages = numbered.group_by("pair").agg(languages=numbered.count())
    several = numbered.inner_join(languages.filter(languages.languages > 1), "pair")
    others = draw(seed, several.row, ibis.literal(_PARTNER)) % (several.languages - 1)
    drawn = several.select(
        "pair", "row", "premise", partner=others + (others >= several.number).cast("int64")
    )
    hypotheses = numbered.select("pair", partner="number", positive="hypothesis")
    crossed = as_table(drawn).inner_join(hypotheses, ["pair", "partner"])
    return own.union(
        crossed.select(key=crossed.row * 2 + 1, sentence=crossed.premise, positive=crossed.positive)
    )


def every_hypothesis(rows: ir.Table) -> ir.Table:
    """Return every premise with its hypothesis in each language, its own included: n² rows for n languages.

    Returns:
        Columns key, sentence, positive.
    """
    languages = rows.select("language").distinct()
    numbers = languages.mutate(number=ibis.row_number().over(order_by=languages.language))
    count = int(numbers.count().execute())
    others = rows.inner_join(numbers, "language").select("pair", "number", positive="hypothesis")
    premises = rows.select("pair", "row", sentence="premise")
    crossed = as_table(premises.inner_join(others, "pair"))
    return crossed.select("sentence", "positive", key=crossed.row * count + crossed.number)


def shuffled(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Return every distinct premise and hypothesis paired with another one at random, across languages or within each.

    Returns:
        Columns key, sentence, positive.
    """
    premises = rows.select("language", key=rows.row * 2, text=rows.premise)
    texts = premises.union(rows.select("language", key=rows.row * 2 + 1, text=rows.hypothesis))
    texts = texts.group_by("language", "text").agg(key=texts.key.min())
    texts = texts.mutate(sentence=texts.text, positive=texts.text)
    return random_pairs(texts, seed, (_LEFT, _RIGHT), within=() if cross_lingual else ["language"])
