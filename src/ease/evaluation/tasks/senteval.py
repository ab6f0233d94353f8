"""Four English classification tasks of SentEval on frozen embeddings: logistic regression, DuEAM's network (Table 6).

Movie reviews (MR), subjectivity (SUBJ), question types (TREC) and sentiment (SST2); Conneau and Kiela (2018). As in
SentEval, sets without a test split are tested in ten folds, and the regularisation strength C is chosen on development
data if there are any, else in ten inner folds. Embeddings are not normalised. The network's accuracies are a metric of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat

from ease.errors import EaseError
from ease.evaluation.classifiers import (
    LabelledEmbeddings,
    fit_selected,
    require_known_classes,
    stratified_folds,
)
from ease.evaluation.items import Items, mean_items
from ease.evaluation.scores import DEVELOPMENT_METRIC, Score
from ease.evaluation.tasks.base import Texts
from ease.evaluation.tasks.set_files import Labelled, SetFiles, TableOptions, TableTask, collect_labelled, read_fields
from ease.io.progress import ProgressBar
from ease.io.text_tables import read_lines
from ease.options import StrictModel
from ease.similarity.encode import Encode

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

LOGISTIC_ACCURACY = "accuracy"
NETWORK_ACCURACY = "network_accuracy"
MAX_ITERATIONS = 1000
"""Of L-BFGS; embeddings of length 1 take some tens"""
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
        None, description="also score a network with dropout (DuEAM, Table 6); null: logistic regression alone"
    )


LabelledSplits = dict[str, Labelled]


class SentEval(TableTask):
    """Accuracy of each classifier on each set and on the data that chose C, and the mean accuracies over the sets.

    The deviation of a set without a test split is over its folds.
    """

    TYPE = "Classification"
    METRICS = (LOGISTIC_ACCURACY, DEVELOPMENT_METRIC, NETWORK_ACCURACY)
    Options = SentEvalOptions
    options: SentEvalOptions

    def read(self, subset: str, paths: tuple[Path, ...]) -> LabelledSplits:
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

    def texts(self, data: LabelledSplits) -> Mapping[str, Texts]:
        """Return each tested text."""
        return dict.fromkeys((LOGISTIC_ACCURACY, NETWORK_ACCURACY), (data.get("test") or data["all"]).texts)

    def score(self, encode: Encode, subset: str, data: LabelledSplits) -> Iterator[Score]:
        """Score a set by logistic regression and, if configured, by a network."""
        from sklearn.linear_model import LogisticRegression

        from ease.evaluation.network_classifier import NetworkClassifier

        options = self.options
        note = "; ".join(f"{split}: {part.note}" for split, part in data.items() if part.note)
        embedded = {
            split: LabelledEmbeddings(encode([text for (text,) in part.texts]), part.labels, f"embeddings of {split}")
            for split, part in data.items()
        }
        strengths = options.strengths_trec if subset == "trec" else options.strengths
        regression = LogisticRegression(max_iter=MAX_ITERATIONS)
        result = _test(embedded, regression, {"C": strengths}, options)
        yield self.mean_result(subset, LOGISTIC_ACCURACY, result.accuracies, note, result.items)
        if result.development:
            yield self.mean_result(subset, DEVELOPMENT_METRIC, result.development)
        if options.network is not None:
            settings = options.network.model_dump(exclude={"weight_decays"})
            network = NetworkClassifier(**settings, seed=options.seed)
            result = _test(embedded, network, {"weight_decay": options.network.weight_decays}, options)
            yield self.mean_result(subset, NETWORK_ACCURACY, result.accuracies, note, result.items)


class _Tested(NamedTuple):
    """Accuracies (0 to 1) of the tests and of the choice of the hyperparameter; each tested row's contribution."""

    accuracies: list[float]
    development: list[float]
    items: Items


def _test(
    data: Mapping[str, LabelledEmbeddings],
    model: BaseEstimator,
    grid: Mapping[str, tuple[float, ...]],
    options: SentEvalOptions,
) -> _Tested:
    """Test a classifier on the test split, or on each fold of a set without one."""
    parts = _divide(data, options)
    count = sum(len(rows) for _, _, rows in parts)
    hits = np.zeros(count)
    weights = np.zeros(count)
    accuracies = []
    development = []
    for training, test, rows in ProgressBar(parts, desc="Folds", unit="fold", delay=2):
        require_known_classes(training.labels, test.labels, "the rows to test on")
        choosing = data.get("dev", training)
        if choosing is training and len(next(iter(grid.values()))) > 1:
            choosing = stratified_folds(training.labels, options.folds, options.seed)
        fitted, accuracy = fit_selected(model, grid, training, choosing)
        right = fitted.predict(test.embeddings.astype(np.float64)) == test.labels
        weights[rows] = count / len(parts) / len(rows)  # the mean of folds of different sizes
        hits[rows] = right * weights[rows]
        accuracies.append(float(np.mean(right)))
        if accuracy is not None:
            development.append(accuracy)
    return _Tested(accuracies, development, mean_items(hits, weights))


def _divide(
    data: Mapping[str, LabelledEmbeddings], options: SentEvalOptions
) -> list[tuple[LabelledEmbeddings, LabelledEmbeddings, NDArray[np.intp]]]:
    """Return training data, test data and the numbers of the tested rows, of each fold if there is no test split."""
    if "all" not in data:
        return [(data["train"], data["test"], np.arange(len(data["test"].labels)))]
    rows = data["all"]
    folds = stratified_folds(rows.labels, options.folds, options.seed)
    splits = folds.split(rows.embeddings, rows.labels)
    return [(rows.rows(training), rows.rows(test), test) for training, test in splits]


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
