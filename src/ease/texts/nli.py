"""Natural language inference: triplets for contrastive training, or pairs without their labels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.texts.components import nli_forms as forms
from ease.texts.components.languages import check_spoken
from ease.texts.components.nli_files import SCHEMA, inferences
from ease.texts.components.options import FileOptions, Source
from ease.texts.components.workspace import Workspace

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Options(FileOptions):
    """A file of inferences, and what to make of it."""

    title: ClassVar[str] = "Natural language inference"

    form: Literal["triplets", "premise_hypothesis", "shuffled"] = Field(
        "triplets",
        description="triplets: premise, entailment, contradiction. premise_hypothesis: any pair (DuEAM, weakly "
        "supervised). shuffled: premises and hypotheses paired at random (DuEAM, unsupervised)",
    )
    languages: tuple[str, ...] | None = Field(
        None, min_length=1, description="languages to take; null: all that the file has"
    )
    cross_lingual: bool = Field(
        False,
        description="triplets: the language of each of the three is drawn at random. premise_hypothesis: each pair "
        "comes a second time, its hypothesis in another language. shuffled: pairs may be of two languages",
    )
    negatives: Literal["keep", "require", "none"] = Field(
        "keep",
        description="of triplets: keep entailments that have no contradiction, require one, or take none",
    )
    split: str = Field("train", description="of a folder, such as dev: which of its files")

    @model_validator(mode="after")
    def _of_triplets(self) -> Options:
        if self.negatives != "keep" and self.form != "triplets":
            raise EaseError(f"`negatives` is for triplets; the form {self.form!r} has none: leave it out.")
        return self


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Make texts of a file of inferences; rows without a label are counted.

    Raises:
        EaseError: Naming the file and the line that are wrong, or the languages that the file lacks.
    """
    counts: Counter[str] = Counter()
    rows = workspace.store(inferences(options.path, options.split, counts), SCHEMA)
    spoken = check_spoken(rows.language, options.languages or (), options.path)
    if options.languages:
        rows = rows.filter(rows.language.isin(list(options.languages)))
    chosen = options.languages or spoken
    if options.cross_lingual and options.form != "shuffled" and len(chosen) < 2:
        raise EaseError(f"`cross_lingual` needs two languages or more, and {options.path} is read in one.")
    if options.cross_lingual:
        forms.check_distinct(rows, options.path)
    if options.form == "shuffled":
        return Source(forms.shuffled(rows, options.cross_lingual, seed), counts)
    if options.form == "premise_hypothesis":
        return Source(forms.premise_hypothesis(rows, options.cross_lingual, seed), counts)
    triplets = forms.triplets(rows, min(chosen) if options.cross_lingual else None, seed)
    return Source(_with_negatives(triplets, options, counts), counts)


def _with_negatives(triplets: ir.Table, options: Options, counts: Counter[str]) -> ir.Table:
    """Treat entailments without a contradiction as asked for, and count them."""
    if options.negatives == "none":
        return triplets.drop("negative")
    counts["without_contradiction"] = int(triplets.negative.isnull().sum().execute() or 0)
    return triplets.filter(triplets.negative.notnull()) if options.negatives == "require" else triplets
