"""Training texts from natural language inference: triplets, or pairs without labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.texts.components import nli_forms as forms
from ease.texts.components.languages import check_languages
from ease.texts.components.nli_files import SCHEMA, inferences, translations
from ease.texts.components.options import FileOptions, Source
from ease.texts.components.workspace import Workspace

if TYPE_CHECKING:
    import ibis.expr.types as ir


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
    negatives: Literal["keep", "require", "none"] = Field(
        "keep",
        description="of triplets: keep entailments without a contradiction, require one, or use none",
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
        if self.premises == "every" and not (self.form == "triplets" and self.cross_lingual):
            raise EaseError(
                "`premises: every` applies to triplets with `cross_lingual: true`: set it, or remove `premises`"
            )
        if self.negatives != "keep" and self.form != "triplets":
            raise EaseError(f"`negatives` applies to triplets, not to the form {self.form!r}: remove it")
        if self.hypotheses == "every" and not (self.form == "premise_hypothesis" and self.cross_lingual):
            raise EaseError(
                "`hypotheses: every` applies to the form premise_hypothesis with `cross_lingual: true`: set both, or "
                "remove it"
            )
        return self


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return the texts made from a file of inferences; rows without a label are dropped and counted.

    Raises:
        EaseError: With the file and the line that are wrong, or the languages that the file does not have.
    """
    counts: Counter[str] = Counter()
    rows = workspace.store(inferences(options.path, options.split, counts), SCHEMA)
    found = check_languages(rows.language, options.languages or (), options.path)
    if options.languages:
        rows = rows.filter(rows.language.isin(list(options.languages)))
    chosen = options.languages or found
    if options.cross_lingual and options.form != "shuffled" and len(chosen) < 2:
        raise EaseError(
            f"`cross_lingual` needs two languages or more, and only one of {options.path} is read."
        )
    if options.cross_lingual:
        forms.check_distinct(rows, options.path)
    if options.form == "shuffled":
        return Source(forms.shuffled(rows, options.cross_lingual, seed), counts)
    if options.form == "premise_hypothesis":
        if options.hypotheses == "every":
            return Source(forms.every_hypothesis(rows), counts)
        return Source(forms.premise_hypothesis(rows, options.cross_lingual, seed), counts)
    reference = min(chosen) if options.cross_lingual else None
    triplets = forms.triplets(rows, reference, seed, each_premise=options.premises == "every")
    return Source(_with_negatives(triplets, options, counts), counts)


def _with_negatives(triplets: ir.Table, options: Options, counts: Counter[str]) -> ir.Table:
    """Keep or drop entailments without a contradiction, and count them."""
    if options.negatives == "none":
        return triplets.drop("negative")
    counts["without_contradiction"] = int(triplets.negative.isnull().sum().execute() or 0)
    return triplets.filter(triplets.negative.notnull()) if options.negatives == "require" else triplets
