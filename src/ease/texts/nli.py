"""Sentence pairs of natural language inference: MNLI, SNLI, XNLI and ANLI in their published forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
    Source,
    Workspace,
    check_languages,
    column_names,
    file_kind,
    random_pairs,
    read_fields,
)

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"

LABELS = {label: label for label in (ENTAILMENT, NEUTRAL, CONTRADICTION)}
LABELS |= {"0": ENTAILMENT, "1": NEUTRAL, "2": CONTRADICTION}
LABELS["contradictory"] = CONTRADICTION  # in the machine-translated MultiNLI of XNLI
_XNLI = ("sentence1", "sentence2", "gold_label")
UNLABELLED = ("", "-", "-1")
"""Labels of pairs without agreement of the annotators, and of hidden test sets."""

SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        *((name, pa.string()) for name in ("language", "prompt", "pair", "premise", "hypothesis", "label")),
    ]
)
"""One row per pair of a premise and a hypothesis in one language.

`pair` is the same in all languages that have the pair. `prompt` is the same for all pairs of one premise, and null if
the file does not number its premises. `language` is empty if the file names none.
"""


Row = tuple[str, str, str | None, str, str, str, str]
"""An unchecked row: its place for messages, and the columns of `SCHEMA` but the first"""


def inferences(path: Path, split: str, counts: Counter[str]) -> Iterator[tuple[int | str | None, ...]]:
    """Yield the labelled rows of a file or folder in `SCHEMA`; blank and unlabelled rows are dropped and counted.

    Args:
        path: XNLI's tab-separated columns; SimCSE's csv of sent0, sent1 and hard_neg; a folder of SNLI's line files
            (s1.*, s2.*, labels.*) or of MultiNLI as XNLI translates it (multinli.train.*.tsv).
        split: Split of a folder's files.
        counts: Filled with the numbers of read and dropped rows.
    """
    counts.update({"read": 0, "unlabelled": 0, "blank": 0})
    rows = _folder_rows(path, split) if path.is_dir() else _file_rows(path)
    for number, (place, language, prompt, pair, premise, hypothesis, label) in enumerate(rows):
        counts["read"] += 1
        stated = label.strip().lower()
        if stated in UNLABELLED:
            counts["unlabelled"] += 1
        elif stated not in LABELS:
            raise EaseError(
                f"{place}: unknown label {label!r}; known are entailment, neutral, contradiction and 0, 1, 2. Leave it "
                "blank, `-` or -1 to drop the row."
            )
        elif not (premise.strip() and hypothesis.strip()):
            counts["blank"] += 1
        else:
            yield number, language, prompt, pair, premise.strip(), hypothesis.strip(), LABELS[stated]


def translations(folder: Path, split: str) -> list[Path]:
    """Return the sorted files of a folder of MultiNLI as XNLI translates it, one for each language."""
    return sorted(folder.glob(f"multinli.{split}.*.tsv"))


def _folder_rows(folder: Path, split: str) -> Iterator[Row]:
    """Read MultiNLI's translations, of which line i of all files belong together, or s1, s2 and labels."""
    translated = translations(folder, split)
    for path in translated:
        for number, (premise, hypothesis, label) in read_fields(path, ["premise", "hypo", "label"]):
            language = path.name.split(".")[2]
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


def _file_rows(path: Path) -> Iterator[Row]:
    """Read a csv of triplets as two pairs of the same premise, or XNLI's columns with optional language and numbers."""
    header = column_names(path)
    if file_kind(path) != "csv":
        optional = [name for name in ("language", "promptID", "pairID") if name in header]
        for number, (premise, hypothesis, label, *others) in read_fields(path, [*_XNLI, *optional]):
            named = dict(zip(optional, others, strict=True))
            language, prompt = named.get("language", ""), named.get("promptID") or None
            pair = named.get("pairID") or f"line {number}"
            yield f"{path}, line {number}", language, prompt, pair, premise, hypothesis, label
        return
    names = [name for name in ("sent0", "sent1", "hard_neg") if name in header]
    if len(names) < 2:
        raise EaseError(
            f"{path}: a csv of inferences has the columns sent0, sent1 and hard_neg; it has {', '.join(header)}. For "
            "other columns, use the kind `columns`."
        )
    for number, (premise, *hypotheses) in read_fields(path, names):
        for label, hypothesis in zip((ENTAILMENT, CONTRADICTION), hypotheses, strict=False):
            yield f"{path}, line {number}", "", str(number), f"{number} {label}", premise, hypothesis, label


_SENTENCE, _POSITIVE, _NEGATIVE, _PARTNER, _LEFT, _RIGHT = range(6)
"""Identifiers of the draws, which make them independent."""


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
    if reference is None:  # each language's pairs are separate pairs
        prompt = rows.language + "\t" + rows.prompt.coalesce(rows.premise)
        rows = rows.mutate(pair=rows.row.cast("string"), prompt=prompt)
    else:
        named = rows.filter(rows.language == reference).select("pair", named="premise")
        joined = rows.left_join(named, "pair").select(*rows.columns, "named")
        # A pair that the reference language does not have is a separate premise.
        rows = joined.mutate(prompt=joined.prompt.coalesce(joined.named, joined.pair)).drop("named")
    numbered = _by_language(rows)
    pairs = numbered.group_by("pair").agg(
        **{name: numbered[name].min() for name in ("prompt", "label")},
        key=numbered.row.min(),
        languages=numbered.count(),
    )
    place = ibis.row_number().over(group_by=[pairs.prompt, pairs.label], order_by=pairs.key)
    wrong = pairs.count(where=pairs.label == CONTRADICTION).over(group_by=pairs.prompt)
    pairs = pairs.mutate(nth=place, wrong=wrong)
    contradictions = pairs.filter(pairs.label == CONTRADICTION)
    others = contradictions.select("prompt", "nth", other="pair", other_languages="languages")
    entailments = pairs.filter(pairs.label == ENTAILMENT)
    wanted = entailments.mutate(
        nth=entailments.nth % entailments.wrong.nullif(0),
        first=draw(seed, entailments.key, ibis.literal(_SENTENCE)) % entailments.languages,
    )
    if each_premise:
        given = numbered.select("pair", key="row", first="number")
        wanted = as_table(wanted.drop("key", "first").inner_join(given, "pair"))
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


def _by_language(rows: ir.Table) -> ir.Table:
    """Number the rows of each pair by language."""
    return rows.mutate(number=ibis.row_number().over(group_by=rows.pair, order_by=rows.language))


def premise_hypothesis(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Return every premise with its hypothesis; if cross-lingual, also with the hypothesis in another language.

    Two languages give the four rows of DuEAM's Table 9; with more languages, the other language is drawn. The columns
    are key, sentence and positive.
    """
    own = rows.select(key=rows.row * 2, sentence=rows.premise, positive=rows.hypothesis)
    if not cross_lingual:
        return own
    numbered = _by_language(rows)
    several = numbered.mutate(languages=numbered.count().over(group_by=numbered.pair))
    several = several.filter(several.languages > 1)
    others = draw(seed, several.row, ibis.literal(_PARTNER)) % (several.languages - 1)
    drawn = several.select("pair", "row", "premise", partner=others + (others >= several.number).cast("int64"))
    hypotheses = numbered.select("pair", partner="number", positive="hypothesis")
    crossed = as_table(drawn).inner_join(hypotheses, ["pair", "partner"])
    return own.union(crossed.select("positive", key=crossed.row * 2 + 1, sentence=crossed.premise).select(*own.columns))


def every_hypothesis(rows: ir.Table) -> ir.Table:
    """Return every premise with its hypothesis in each language, its own included: n² rows for n languages."""
    languages = rows.select("language").distinct()
    numbers = languages.mutate(number=ibis.row_number().over(order_by=languages.language))
    count = int(numbers.count().execute())
    others = rows.inner_join(numbers, "language").select("pair", "number", positive="hypothesis")
    crossed = as_table(rows.select("pair", "row", sentence="premise").inner_join(others, "pair"))
    return crossed.select("sentence", "positive", key=crossed.row * count + crossed.number)


def shuffled(rows: ir.Table, cross_lingual: bool, seed: int) -> ir.Table:
    """Return every distinct premise and hypothesis with another one at random, across languages or within each."""
    premises = rows.select("language", key=rows.row * 2, text=rows.premise)
    texts = premises.union(rows.select("language", key=rows.row * 2 + 1, text=rows.hypothesis))
    texts = texts.group_by("language", "text").agg(key=texts.key.min())
    texts = texts.mutate(sentence=texts.text, positive=texts.text)
    return random_pairs(texts, seed, (_LEFT, _RIGHT), within=() if cross_lingual else ["language"])


class Options(FileOptions):
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
        description="triplets: the language of each of the three is drawn at random. premise_hypothesis: each pair "
        "is repeated with its hypothesis in another language. shuffled: pairs may be of two languages",
    )
    premises: Literal["drawn", "every"] = Field(
        "drawn",
        description="of cross-lingual triplets: one triplet for each entailment, with its premise in a drawn language, "
        "or one for its premise in every language, as in mSimCSE's released code",
    )
    hypotheses: Literal["drawn", "every"] = Field(
        "drawn",
        description="of cross-lingual premise_hypothesis: repeat each pair with its hypothesis in one other language, "
        "drawn at random, or in every other language",
    )
    negatives: Literal["keep", "none"] = Field(
        "keep", description="of triplets: contradictions, which entailments may lack, or none"
    )
    split: str = Field("train", description="split of a folder's files, such as dev")

    @property
    def required(self) -> tuple[Path, ...]:
        """The file or folder, and each language's file in a folder of MultiNLI's translations."""
        if not translations(self.path, self.split):
            return self.places
        wanted = (self.path / f"multinli.{self.split}.{language}.tsv" for language in self.languages or ())
        return (*self.places, *wanted)

    @model_validator(mode="after")
    def _of_form(self) -> Options:
        crossed = self.form if self.cross_lingual else None
        for name, fits, where in (
            ("premises", crossed == "triplets", "triplets with `cross_lingual: true`"),
            ("negatives", self.form == "triplets", "triplets"),
            ("hypotheses", crossed == "premise_hypothesis", "premise_hypothesis with `cross_lingual: true`"),
        ):
            if getattr(self, name) not in ("drawn", "keep") and not fits:
                raise EaseError(f"`{name}` applies to {where}, not to this form: change the form, or remove it")
        return self


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return the texts made from a file of inferences; rows without a label are dropped and counted."""
    path, cross_lingual = options.path, options.cross_lingual
    counts: Counter[str] = Counter()
    rows = workspace.store(inferences(path, options.split, counts), SCHEMA)
    found = check_languages(rows.language, options.languages or (), path)
    if options.languages:
        rows = rows.filter(rows.language.isin(list(options.languages)))
    chosen = options.languages or found
    if cross_lingual:
        if options.form != "shuffled" and len(chosen) < 2:
            raise EaseError(f"`cross_lingual` needs two languages or more, and only one of {path} is read.")
        twice = rows.group_by("language", "pair").agg(rows=rows.count()).filter(ibis._.rows > 1)
        for row in twice.order_by(["language", "pair"]).limit(1).to_pyarrow().to_pylist():
            raise EaseError(
                f"{path}: the pair {row['pair']} (pairID) occurs {row['rows']} times in {row['language']!r}, so its "
                "translations are ambiguous: remove one row, or read each part on its own."
            )
    if options.form == "shuffled":
        made = shuffled(rows, cross_lingual, seed)
    elif options.hypotheses == "every":
        made = every_hypothesis(rows)
    elif options.form == "premise_hypothesis":
        made = premise_hypothesis(rows, cross_lingual, seed)
    else:
        made = triplets(rows, min(chosen) if cross_lingual else None, seed, options.premises == "every")
        if options.negatives == "none":
            made = made.drop("negative")
        else:
            counts["without_contradiction"] = int(made.negative.isnull().sum().execute() or 0)
    return Source(made, counts)
