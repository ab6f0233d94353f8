"""Four English classification tasks of SentEval on frozen embeddings: logistic regression, DuEAM's network (Table 6).

Movie reviews (MR), subjectivity (SUBJ), question types (TREC) and sentiment (SST2); Conneau and Kiela (2018). As in
SentEval, sets without a test split are tested in ten folds, and the regularisation strength C is chosen on development
data if there are any, else in ten inner folds. Embeddings are not normalised. The network's accuracies are a metric of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from pydantic import Field, PositiveFloat
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from tqdm.auto import tqdm

from ease.errors import EaseError
from ease.evaluation.classifiers import (
    LabelledEmbeddings,
    NetworkClassifier,
    fit_selected,
    require_known_classes,
    stratified_folds,
)
from ease.evaluation.items import Items, mean_items
from ease.evaluation.tasks import DEVELOPMENT_METRIC, Score, Texts, repeated_score
from ease.evaluation.tasks.set_files import Labelled, SetFiles, TableOptions, TableTask, collect_labelled, read_fields
from ease.io.text_tables import read_lines
from ease.options import StrictModel
from ease.similarity.encode import Encode

METRIC, NETWORK_METRIC = "accuracy", "network_accuracy"
MAX_ITERATIONS = 1000  # of L-BFGS; embeddings of length 1 take some tens
QUESTION_TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


class NetworkOptions(StrictModel):
    """Hyperparameters; those configured are of DuEAM's appendix A, which does not give the number of hidden units."""

    hidden: int = Field(ge=1, description="hidden units, with sigmoid activation")
    dropout: float = Field(ge=0, lt=1, description="share of the hidden units that are dropped in a step")
    epochs: int = Field(ge=1, description="passes over the training data")
    batch_size: int = Field(ge=1, description="rows per step")
    weight_decays: tuple[float, ...] = Field(
        min_length=1,
        description="candidates for the L2 penalty, chosen like C of logistic regression; one is used without a choice",
    )


class SentEvalOptions(TableOptions):
    """The files of each set's two classes or splits, and the options of the classifiers."""

    folds: int = Field(ge=2, description="folds of sets without a test split, and inner folds that choose C")
    seed: int = Field(ge=0, lt=2**32, description="seed of the folds")
    strengths: tuple[PositiveFloat, ...] = Field(min_length=1, description="candidates for C of logistic regression")
    strengths_trec: tuple[PositiveFloat, ...] = Field(min_length=1, description="candidates for TREC, as in SentEval")
    network: NetworkOptions | None = Field(
        description="also score a network with dropout (DuEAM, Table 6); null: logistic regression alone"
    )


Splits = dict[str, Labelled]


class SentEval(TableTask):
    """Accuracy of each classifier on each set and on the data that chose C, and the mean accuracies over the sets.

    The deviation of a set without a test split is over its folds.
    """

    KIND, METRICS, Options = "Classification", (METRIC, DEVELOPMENT_METRIC, NETWORK_METRIC), SentEvalOptions

    def read(self, options: SentEvalOptions, subset: str, paths: tuple[Path, ...]) -> Splits:
        """Read the splits of a set; MR and SUBJ have one, `all`, with a file for each class, of a sentence a line."""
        if subset == "trec":
            splits = dict(zip(("train", "test"), map(read_questions, paths), strict=True))
        elif subset == "sst2":
            splits = dict(zip(("train", "dev", "test"), map(read_sentiments, paths), strict=True))
        else:
            rows = (
                (f"{path}, line {number}", path.name, (text.strip(),))
                for path in paths
                for number, text in read_lines(path, latin1=True)
            )
            splits = {"all": collect_labelled(paths[0], rows)}
        require_known_classes(next(iter(splits.values())).labels)
        return splits

    def texts(self, options: SentEvalOptions, data: Splits) -> Mapping[str, Texts]:
        """Return each tested text."""
        return dict.fromkeys((METRIC, NETWORK_METRIC), (data.get("test") or data["all"]).texts)

    def score(self, encode: Encode, options: SentEvalOptions, subset: str, data: Splits) -> Iterator[Score]:
        """Score a set."""
        note = "; ".join(f"{split}: {part.note}" for split, part in data.items() if part.note)
        embedded = {
            split: LabelledEmbeddings(encode([text for (text,) in part.texts]), part.labels, f"embeddings of {split}")
            for split, part in data.items()
        }
        strengths = options.strengths_trec if subset == "trec" else options.strengths
        model: BaseEstimator = LogisticRegression(max_iter=MAX_ITERATIONS)
        accuracies, development, items = _test(embedded, model, {"C": strengths}, options)
        yield repeated_score(self.name, subset, METRIC, accuracies, note, items)
        if development:
            yield repeated_score(self.name, subset, DEVELOPMENT_METRIC, development)
        if options.network is not None:
            given = options.network.model_dump(exclude={"weight_decays"})
            model = NetworkClassifier(**given, seed=options.seed)
            grid = {"weight_decay": options.network.weight_decays}
            accuracies, _, items = _test(embedded, model, grid, options)
            yield repeated_score(self.name, subset, NETWORK_METRIC, accuracies, note, items)


def _test(
    data: Mapping[str, LabelledEmbeddings],
    model: BaseEstimator,
    grid: Mapping[str, tuple[float, ...]],
    options: SentEvalOptions,
) -> tuple[list[float], list[float], Items]:
    """Test a classifier on the test split, or on each fold of a set without one.

    Returns accuracies (0 to 1) of the tests and of the choice of the hyperparameter; each tested row's contribution.
    """
    if "all" in data:
        every = data["all"]
        folds = stratified_folds(every.labels, options.folds, options.seed)
        splits = list(folds.split(every.embeddings, every.labels))
        parts = [(every.rows(fitted), every.rows(held), held) for fitted, held in splits]
    else:
        parts = [(data["train"], data["test"], np.arange(len(data["test"].labels)))]
    count = sum(len(held) for _, _, held in parts)
    hits, weights, accuracies, development = np.zeros(count), np.zeros(count), [], []
    for training, test, held in tqdm(parts, desc="Folds", delay=2, leave=False, disable=None):
        require_known_classes(training.labels, test.labels, "the rows to test on")
        choosing = data.get("dev", training)
        if choosing is training and len(next(iter(grid.values()))) > 1:
            choosing = stratified_folds(training.labels, options.folds, options.seed)
        fitted, accuracy = fit_selected(model, grid, training, choosing)
        found = fitted.predict(test.embeddings.astype(np.float64)) == test.labels
        weights[held] = count / len(parts) / len(held)  # the mean of folds of different sizes
        hits[held] = found * weights[held]
        accuracies.append(float(np.mean(found)))
        development += [] if accuracy is None else [accuracy]
    return accuracies, development, mean_items(hits, weights)


def read_questions(path: Path) -> Labelled:
    """Read TREC's lines of a type, a colon, a subtype, a space and a question, in UTF-8 or Latin-1."""
    rows = []
    for number, line in read_lines(path, latin1=True):
        kind, colon, rest = line.partition(":")
        if line.strip() and not (colon and kind in QUESTION_TYPES):
            raise EaseError(
                f"{path}, line {number}: does not begin with {', '.join(QUESTION_TYPES)} and a colon; is it another "
                "kind of file?"
            )
        if line.strip():
            rows.append((f"{path}, line {number}", kind, (rest.partition(" ")[2].strip(),)))
    return collect_labelled(path, rows)


def read_sentiments(path: Path) -> Labelled:
    """Read lines of a sentence, a tab and 0 (negative) or 1 (positive)."""
    rows = []
    for place, row in read_fields([path], {"text": 1, "label": 2}, SetFiles(format="tsv")):
        if row["label"].strip() not in ("0", "1"):
            raise EaseError(f"{place}: the label is {row['label']!r}, not 0 or 1.")
        rows.append((place, row["label"], (row["text"],)))
    return collect_labelled(path, rows)
