"""Sentence pairs of natural language inference: MNLI, SNLI, XNLI and ANLI in their published forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from ease.entities.hashing import as_table, draw
from ease.errors import EaseError
from ease.io.text_tables import read_parallel_lines
from ease.lazy import ibis, ir
from ease.texts.components.sources import (
    FileOptions,
    SourceTexts,
    Workspace,
    check_file_languages,
    column_names,
    file_kind,
    random_pairs,
    read_text_fields,
)

ENTAILMENT = "entailment"
NEUTRAL = "neutral"
CONTRADICTION = "contradiction"

INFERENCE_LABELS = {
    ENTAILMENT: ENTAILMENT,
    NEUTRAL: NEUTRAL,
    CONTRADICTION: CONTRADICTION,
    "0": ENTAILMENT,
    "1": NEUTRAL,
    "2": CONTRADICTION,
    "contradictory": CONTRADICTION,  # in the machine-translated MultiNLI of XNLI
}
"""Relations by their labels in files"""
UNLABELLED = ("", "-", "-1")
"""Labels of pairs on which the annotators disagree, and of hidden test sets"""
_XNLI_COLUMNS = ("sentence1", "sentence2", "gold_label")

INFERENCE_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        *((name, pa.string()) for name in ("language", "prompt", "pair", "premise", "hypothesis", "label")),
    ]
)
"""One row per pair of a premise and a hypothesis in one language.

`pair` is the same in all languages that have the pair. `prompt` is the same for all pairs of one premise, and null if
the file does not number its premises. `language` is empty if the file names none.
"""

InferenceRow = tuple[str, str, str | None, str, str, str, str]
"""An unchecked row: its place for messages, and the columns of `INFERENCE_SCHEMA` without the first"""


def read_inferences(path: Path, split: str, counts: Counter[str]) -> Iterator[tuple[int | str | None, ...]]:
    """Yield the labelled rows of a file or folder, as `INFERENCE_SCHEMA`; drop and count blank and unlabelled rows.

    Args:
        path: XNLI's tab-separated columns; SimCSE's csv of sent0, sent1 and hard_neg; a folder of SNLI's line files
            (s1.*, s2.*, labels.*) or of MultiNLI as XNLI translates it (multinli.train.*.tsv).
        split: Split of a folder's files.
        counts: Receives the numbers of read and dropped rows.

    Raises:
        EaseError: If a file is missing, lacks a column, or has an unknown label.
    """
    # So that reports list all counts, in this order.
    counts.update({"read": 0, "unlabelled": 0, "blank": 0})
    if path.is_dir():
        rows = _folder_rows(path, split)
    else:
        rows = _file_rows(path)
    for number, (place, language, prompt, pair, premise, hypothesis, label) in enumerate(rows):
        counts["read"] += 1
        normalized = label.strip().lower()
        if normalized in UNLABELLED:
            counts["unlabelled"] += 1
        elif normalized not in INFERENCE_LABELS:
            raise EaseError(
                f"{place}: unknown label {label!r}; known are entailment, neutral, contradiction and 0, 1, 2. Leave it "
                "blank, `-` or -1 to drop the row."
            )
        elif not (premise.strip() and hypothesis.strip()):
            counts["blank"] += 1
        else:
            yield number, language, prompt, pair, premise.strip(), hypothesis.strip(), INFERENCE_LABELS[normalized]


def translated_files(folder: Path, split: str) -> list[Path]:
    """Return the sorted files of MultiNLI as XNLI translates it in a folder, one for each language."""
    return sorted(folder.glob(f"multinli.{split}.*.tsv"))


def _folder_rows(folder: Path, split: str) -> Iterator[InferenceRow]:
    """Yield the rows of MultiNLI's translations, or those of the line files s1, s2 and labels."""
    translated = translated_files(folder, split)
    for path in translated:
        for number, (premise, hypothesis, label) in read_text_fields(path, ["premise", "hypo", "label"]):
            language = path.name.split(".")[2]
            # The files have no numbers, but the same line in all of them is the same pair.
            yield f"{path}, line {number}", language, None, str(number), premise, hypothesis, label
    if translated:
        return
    paths = [folder / f"{name}.{split}" for name in ("s1", "s2", "labels")]
    if missing := [path.name for path in paths if not path.exists()]:
        raise EaseError(
            f"{folder}: no {', '.join(missing)}, nor multinli.{split}.*.tsv. Give the folder of such files, and their "
            "`split`."
        )
    for number, (premise, hypothesis, label) in read_parallel_lines(paths):
        yield f"{paths[2]}, line {number}", "", None, str(number), premise, hypothesis, label


def _file_rows(path: Path) -> Iterator[InferenceRow]:
    """Yield the rows of SimCSE's csv, or else of a tab-separated file with XNLI's columns."""
    header = column_names(path)
    if file_kind(path) == "csv":
        return _triplet_rows(path, header)
    return _xnli_rows(path, header)


def _xnli_rows(path: Path, header: Sequence[str]) -> Iterator[InferenceRow]:
    """Yield the rows of a file with XNLI's columns, of which language, promptID and pairID are optional."""
    optional = [name for name in ("language", "promptID", "pairID") if name in header]
    for number, (premise, hypothesis, label, *fields) in read_text_fields(path, [*_XNLI_COLUMNS, *optional]):
        values = dict(zip(optional, fields, strict=True))
        language = values.get("language", "")
        prompt = values.get("promptID") or None
        pair = values.get("pairID") or f"line {number}"
        yield f"{path}, line {number}", language, prompt, pair, premise, hypothesis, label


def _triplet_rows(path: Path, header: Sequence[str]) -> Iterator[InferenceRow]:
    """Yield each triplet of SimCSE's csv as two pairs with the same premise."""
    names = [name for name in ("sent0", "sent1", "hard_neg") if name in header]
    if len(names) < 2:
        raise EaseError(
            f"{path}: a csv of inferences has the columns sent0, sent1 and hard_neg; it has {', '.join(header)}. For "
            "other columns, use the kind `columns`."
        )
    for number, (premise, *hypotheses) in read_text_fields(path, names):
        # Not strict: the file may have no column of hard negatives.
        for label, hypothesis in zip((ENTAILMENT, CONTRADICTION), hypotheses, strict=False):
            yield f"{path}, line {number}", "", str(number), f"{number} {label}", premise, hypothesis, label


# Each purpose hashes its own key, so that its draws are independent of the others'.
_SENTENCE = 0
_POSITIVE = 1
_NEGATIVE = 2
_PARTNER = 3
_LEFT = 4
_RIGHT = 5


def triplets(rows: ir.Table, reference: str | None, seed: int, each_premise: bool = False) -> ir.Table:
    """Return each entailment with its premise and a contradiction of the same premise.

    The n-th entailment of a premise gets its n-th contradiction, starting over if there are fewer contradictions.

    Args:
        rows: Columns of `INFERENCE_SCHEMA`.
        reference: None for triplets within one language. Otherwise each text's language is drawn from the languages
            that have the text, and premises without a number are identified by their text in the reference language.
        seed: Seed of the draws.
        each_premise: Return a triplet for the premise in each language; only the other two languages are drawn.

    Returns:
        Columns key, sentence, positive, negative (null if the premise has no contradiction).
    """
    numbered = _number_languages(_identify_premises(rows, reference))
    combinations = _match_contradictions(numbered, seed, each_premise)
    # The numbers of the three texts' languages; they are null without a contradiction.
    texts = combinations.select(
        "key",
        "pair",
        "contradiction",
        "first",
        second=draw(seed, combinations.key, ibis.literal(_POSITIVE)) % combinations.languages,
        third=draw(seed, combinations.key, ibis.literal(_NEGATIVE)) % combinations.contradiction_languages,
    )
    premises = numbered.select("pair", first="number", sentence="premise")
    hypotheses = numbered.select("pair", second="number", positive="hypothesis")
    negatives = numbered.select(contradiction="pair", third="number", negative="hypothesis")
    joined = as_table(as_table(texts).inner_join(premises, ["pair", "first"]))
    joined = as_table(joined.inner_join(hypotheses, ["pair", "second"]))
    joined = joined.left_join(negatives, ["contradiction", "third"])
    return joined.select("key", "sentence", "positive", "negative")


def _identify_premises(rows: ir.Table, reference: str | None) -> ir.Table:
    """Return the rows with a `prompt` that is the same for all pairs of a premise, as `triplets` describes it."""
    if reference is None:
        # Each language's pairs are separate pairs.
        prompt = rows.language + "\t" + rows.prompt.coalesce(rows.premise)
        return rows.mutate(pair=rows.row.cast("string"), prompt=prompt)
    premises = rows.filter(rows.language == reference).select("pair", reference_premise="premise")
    joined = rows.left_join(premises, "pair").select(*rows.columns, "reference_premise")
    # A pair that the reference language does not have is a separate premise.
    prompt = joined.prompt.coalesce(joined.reference_premise, joined.pair)
    return joined.mutate(prompt=prompt).drop("reference_premise")


def _match_contradictions(numbered: ir.Table, seed: int, each_premise: bool) -> ir.Table:
    """Return each entailment with a contradiction of its premise, and the number of the premise's language.

    Returns:
        Columns key, pair (the entailment), languages (how many it has), first (the premise's language), contradiction
        (a pair; null if the premise has none), contradiction_languages.
    """
    pairs = numbered.group_by("pair").agg(
        prompt=numbered.prompt.min(),
        label=numbered.label.min(),
        key=numbered.row.min(),
        languages=numbered.count(),
    )
    place = ibis.row_number().over(group_by=[pairs.prompt, pairs.label], order_by=pairs.key)
    contradiction_count = pairs.count(where=pairs.label == CONTRADICTION).over(group_by=pairs.prompt)
    pairs = pairs.mutate(nth=place, contradiction_count=contradiction_count)
    contradictions = pairs.filter(pairs.label == CONTRADICTION)
    contradictions = contradictions.select("prompt", "nth", contradiction="pair", contradiction_languages="languages")
    entailments = pairs.filter(pairs.label == ENTAILMENT)
    entailments = entailments.mutate(
        # Without contradictions, the remainder is null, and so is the contradiction.
        nth=entailments.nth % entailments.contradiction_count.nullif(0),
        first=draw(seed, entailments.key, ibis.literal(_SENTENCE)) % entailments.languages,
    )
    if each_premise:
        premises = numbered.select("pair", key="row", first="number")
        entailments = as_table(entailments.drop("key", "first").inner_join(premises, "pair"))
    return entailments.left_join(contradictions, ["prompt", "nth"])


def _number_languages(rows: ir.Table) -> ir.Table:
    """Number the rows of each pair by language, from 0."""
    return rows.mutate(number=ibis.row_number().over(group_by=rows.pair, order_by=rows.language))


def premise_hypothesis(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Return every premise with its hypothesis; if cross-lingual, also with the hypothesis in another language.

    Two languages give the four rows of DuEAM's Table 9; with more languages, the other language is drawn. The columns
    are key, sentence and positive.
    """
    # Even keys here and odd keys across languages: a pair precedes its repetition.
    same = rows.select(key=rows.row * 2, sentence=rows.premise, positive=rows.hypothesis)
    if not cross_lingual:
        return same
    numbered = _number_languages(rows)
    several = numbered.mutate(languages=numbered.count().over(group_by=numbered.pair))
    several = several.filter(several.languages > 1)
    # A number among the other languages: those from the premise's own on are shifted by one.
    number = draw(seed, several.row, ibis.literal(_PARTNER)) % (several.languages - 1)
    partner = number + (number >= several.number).cast("int64")
    premises = several.select("pair", "row", "premise", partner=partner)
    hypotheses = numbered.select("pair", partner="number", positive="hypothesis")
    crossed = as_table(premises).inner_join(hypotheses, ["pair", "partner"])
    crossed = crossed.select("positive", key=crossed.row * 2 + 1, sentence=crossed.premise)
    return same.union(crossed.select(*same.columns))


def every_hypothesis(rows: ir.Table) -> ir.Table:
    """Return every premise with its hypothesis in each language, also its own: n² rows for n languages."""
    languages = rows.select("language").distinct()
    numbers = languages.mutate(number=ibis.row_number().over(order_by=languages.language))
    count = int(numbers.count().execute())
    hypotheses = rows.inner_join(numbers, "language").select("pair", "number", positive="hypothesis")
    crossed = as_table(rows.select("pair", "row", sentence="premise").inner_join(hypotheses, "pair"))
    # Keys are distinct, since a language's number is below the count.
    return crossed.select("sentence", "positive", key=crossed.row * count + crossed.number)


def shuffled(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Return every distinct premise and hypothesis with a random other text, across languages or within each."""
    premises = rows.select("language", key=rows.row * 2, text=rows.premise)
    texts = premises.union(rows.select("language", key=rows.row * 2 + 1, text=rows.hypothesis))
    texts = texts.group_by("language", "text").agg(key=texts.key.min())
    texts = texts.mutate(sentence=texts.text, positive=texts.text)
    group_columns = ["language"]
    if cross_lingual:
        group_columns = []
    return random_pairs(texts, seed, (_LEFT, _RIGHT), group_columns)


class InferenceOptions(FileOptions):
    """A file of inferences, and the texts to make from it."""

    title: ClassVar[str] = "Natural language inference"

    form: Literal["triplets", "premise_hypothesis", "shuffled"] = Field(
        "triplets",
        description="triplets: premise, entailment, contradiction. premise_hypothesis: any pair (DuEAM, weakly "
        "supervised). shuffled: premises and hypotheses paired at random (DuEAM, unsupervised)",
    )
    languages: tuple[str, ...] | None = Field(
        None, min_length=1, description="languages to read; null: all of the file"
    )
    cross_lingual: bool = Field(
        False,
        description="triplets: the language of each of the three texts is drawn at random. premise_hypothesis: each "
        "pair is repeated with its hypothesis in another language. shuffled: a pair may be in two languages",
    )
    premises: Literal["drawn", "every"] = Field(
        "drawn",
        description="for cross-lingual triplets: one triplet for each entailment, with its premise in a random "
        "language, or one for its premise in every language, as in mSimCSE's released code",
    )
    hypotheses: Literal["drawn", "every"] = Field(
        "drawn",
        description="for cross-lingual premise_hypothesis: repeat each pair with its hypothesis in one other language, "
        "drawn at random, or in every other language",
    )
    negatives: Literal["keep", "none"] = Field(
        "keep", description="for triplets: contradictions, which entailments may lack, or none"
    )
    split: str = Field("train", description="split of a folder's files, such as dev")

    @property
    def required(self) -> tuple[Path, ...]:
        """The file or folder, and each language's file in a folder of MultiNLI's translations."""
        if not translated_files(self.path, self.split):
            return self.places
        files = (self.path / f"multinli.{self.split}.{language}.tsv" for language in self.languages or ())
        return (*self.places, *files)

    @model_validator(mode="after")
    def _check_form(self) -> InferenceOptions:
        triplets_form = self.form == "triplets"
        pairs_form = self.form == "premise_hypothesis"
        for name, applies, forms in (
            ("premises", triplets_form and self.cross_lingual, "triplets with `cross_lingual: true`"),
            ("negatives", triplets_form, "triplets"),
            ("hypotheses", pairs_form and self.cross_lingual, "premise_hypothesis with `cross_lingual: true`"),
        ):
            # The defaults, `drawn` and `keep`, apply to every form.
            if getattr(self, name) not in ("drawn", "keep") and not applies:
                raise EaseError(f"`{name}` applies to {forms}, not to this form: change the form, or remove it")
        return self

    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return the texts made from the file's inferences; rows without a label are dropped and counted."""
        counts: Counter[str] = Counter()
        rows = workspace.store(read_inferences(self.path, self.split, counts), INFERENCE_SCHEMA)
        languages = check_file_languages(rows.language, self.languages or (), self.path)
        if self.languages:
            languages = self.languages
            rows = rows.filter(rows.language.isin(list(self.languages)))
        if self.cross_lingual:
            self._check_translations(rows, languages)
        if self.form == "shuffled":
            return SourceTexts(shuffled(rows, self.cross_lingual, seed), counts)
        if self.hypotheses == "every":
            return SourceTexts(every_hypothesis(rows), counts)
        if self.form == "premise_hypothesis":
            return SourceTexts(premise_hypothesis(rows, self.cross_lingual, seed), counts)
        reference = None
        if self.cross_lingual:
            reference = min(languages)
        texts = triplets(rows, reference, seed, self.premises == "every")
        if self.negatives == "none":
            return SourceTexts(texts.drop("negative"), counts)
        counts["without_contradiction"] = int(texts.negative.isnull().sum().execute() or 0)
        return SourceTexts(texts, counts)

    def _check_translations(self, rows: ir.Table, languages: Sequence[str]) -> None:
        """Raise EaseError if pairs cannot be joined across languages."""
        if self.form != "shuffled" and len(languages) < 2:
            raise EaseError(f"`cross_lingual` needs two languages or more, and only one of {self.path} is read.")
        counts = rows.group_by("language", "pair").agg(rows=rows.count())
        repeated = counts.filter(counts["rows"] > 1).order_by(["language", "pair"]).limit(1)
        for row in repeated.to_pyarrow().to_pylist():
            raise EaseError(
                f"{self.path}: the pair {row['pair']} (pairID) occurs {row['rows']} times in {row['language']!r}, so "
                "its translations are ambiguous: remove one row, or read each part on its own."
            )
