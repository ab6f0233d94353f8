"""What is made of rows of inferences: relational, seeded by integer hashes of the rows' own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.texts.components.nli_files import CONTRADICTION, ENTAILMENT

if TYPE_CHECKING:
    import ibis.expr.types as ir

_SENTENCE, _POSITIVE, _NEGATIVE, _PARTNER, _LEFT, _RIGHT = range(6)
"""What is drawn, so that one draw does not repeat another."""


def check_distinct(rows: ir.Table, path: Path) -> None:
    """Refuse a pair that a language has twice: joining languages would mix it up.

    Raises:
        EaseError: Naming one such pair.
    """
    twice = rows.group_by("language", "pair").agg(rows=rows.count())
    found = twice.filter(twice.rows > 1).order_by(["language", "pair"]).limit(1).to_pyarrow().to_pylist()
    if found:
        raise EaseError(
            f"{path}: the pair {found[0]['pair']} (pairID) stands {found[0]['rows']} times in "
            f"{found[0]['language']!r}, so it does not tell which rows are translations: take out one, or read each "
            "part on its own."
        )


def triplets(rows: ir.Table, reference: str | None, seed: int) -> ir.Table:
    """Each entailment with its premise and a contradiction of the same premise.

    The n-th entailment of a premise gets its n-th contradiction, from the first again where they are fewer.

    Args:
        rows: As `SCHEMA` says.
        reference: None for triplets of one language. Else the language of each text is drawn among those that have it;
            premises without a number are told apart by their text in this language.
        seed: Of the draws.

    Returns:
        Columns key, sentence, positive, negative (null where the premise has no contradiction).
    """
    told = _by_language(_with_prompt(rows, reference), apart=reference is None)
    pairs = told.group_by("pair").agg(
        prompt=told.prompt.min(), label=told.label.min(), key=told.row.min(), languages=told.count()
    )
    place = ibis.row_number().over(group_by=[pairs.prompt, pairs.label], order_by=pairs.key)
    pairs = pairs.mutate(place=place)
    contradictions = pairs.filter(pairs.label == CONTRADICTION)
    counts = contradictions.group_by("prompt").agg(contradictions=contradictions.count())
    entailments = pairs.filter(pairs.label == ENTAILMENT).left_join(counts, "prompt")
    wanted = _apart(
        entailments.select(
            "key", "pair", "prompt", "languages", nth=entailments.place % entailments.contradictions
        )
    )
    others = contradictions.select("prompt", nth="place", other="pair", other_languages="languages")
    joined = wanted.left_join(others, ["prompt", "nth"])
    drawn = joined.select(
        "key",
        "pair",
        "other",
        first=draw(seed, joined.key, ibis.literal(_SENTENCE)) % joined.languages,
        second=draw(seed, joined.key, ibis.literal(_POSITIVE)) % joined.languages,
        third=draw(seed, joined.key, ibis.literal(_NEGATIVE)) % joined.other_languages,
    )
    premises = told.select("pair", first="number", sentence="premise")
    hypotheses = told.select("pair", second="number", positive="hypothesis")
    negatives = told.select(other="pair", third="number", negative="hypothesis")
    whole = _apart(_apart(drawn).inner_join(premises, ["pair", "first"]))
    whole = _apart(whole.inner_join(hypotheses, ["pair", "second"]))
    return whole.left_join(negatives, ["other", "third"]).select("key", "sentence", "positive", "negative")


def _with_prompt(rows: ir.Table, reference: str | None) -> ir.Table:
    """Name the premise of each row: by its number, else by its text, in the reference language where there is one."""
    if reference is None:
        return rows.mutate(prompt=rows.prompt.coalesce(rows.premise))
    named = rows.filter(rows.language == reference).select("pair", named="premise")
    joined = rows.left_join(named, "pair").select(*rows.columns, "named")
    # A pair that the reference language lacks is a premise of its own.
    return joined.mutate(prompt=joined.prompt.coalesce(joined.named, joined.pair)).drop("named")


def _apart(joined: ir.Table) -> ir.Table:
    """A join as a table of its own: Ibis cannot join again on a column that a join has computed."""
    return joined.mutate()


def _by_language(rows: ir.Table, apart: bool) -> ir.Table:
    """Number the rows of each pair by their languages; apart, each language's pairs are pairs of their own."""
    if apart:
        rows = rows.mutate(pair=rows.row.cast("string"), prompt=rows.language + "\t" + rows.prompt)
    number = ibis.row_number().over(group_by=rows.pair, order_by=rows.language)
    return rows.mutate(number=number)


def premise_hypothesis(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Every premise with its hypothesis; cross-lingual, once more with the hypothesis in another language.

    With two languages these are the four rows of DuEAM's Table 9; with more, the other language is drawn.

    Returns:
        Columns key, sentence, positive.
    """
    own = rows.select(key=rows.row * 2, sentence=rows.premise, positive=rows.hypothesis)
    if not cross_lingual:
        return own
    told = _by_language(rows, apart=False)
    languages = told.group_by("pair").agg(languages=told.count())
    several = told.inner_join(languages.filter(languages.languages > 1), "pair")
    others = draw(seed, several.row, ibis.literal(_PARTNER)) % (several.languages - 1)
    drawn = several.select(
        "pair", "row", "premise", partner=others + (others >= several.number).cast("int64")
    )
    hypotheses = told.select("pair", partner="number", positive="hypothesis")
    crossed = _apart(drawn).inner_join(hypotheses, ["pair", "partner"])
    return own.union(
        crossed.select(key=crossed.row * 2 + 1, sentence=crossed.premise, positive=crossed.positive)
    )


def shuffled(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Every distinct premise and hypothesis paired with another one, drawn at random.

    Two random orders of the same sentences are laid side by side; a sentence that would meet itself is left out.

    Args:
        rows: As `SCHEMA` says.
        cross_lingual: Pair over all languages; else within each.
        seed: Of the orders.

    Returns:
        Columns key, sentence, positive.
    """
    premises = rows.select("language", key=rows.row * 2, text=rows.premise)
    told = premises.union(rows.select("language", key=rows.row * 2 + 1, text=rows.hypothesis))
    told = told.group_by("language", "text").agg(key=told.key.min())
    if cross_lingual:
        told = told.mutate(language=ibis.literal(""))
    left = ibis.row_number().over(
        group_by=told.language, order_by=[draw(seed, told.key, ibis.literal(_LEFT)), told.key]
    )
    right = ibis.row_number().over(
        group_by=told.language, order_by=[draw(seed, told.key, ibis.literal(_RIGHT)), told.key]
    )
    placed = told.mutate(left=left, right=right)
    sentences = placed.select("language", "key", sentence="text", place="left")
    positives = placed.select("language", other="key", positive="text", place="right")
    paired = sentences.inner_join(positives, ["language", "place"])
    return paired.filter(paired.key != paired.other).select("key", "sentence", "positive")
