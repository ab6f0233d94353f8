"""Four English classification tasks of SentEval on frozen embeddings: logistic regression, DuEAM's network (Table 6).

Movie reviews (MR), subjectivity (SUBJ), question types (TREC) and sentiment (SST2); Conneau and Kiela (2018). As in
SentEval, sets without a test split are tested in ten folds, and the regularisation strength C is chosen on development
data if there are any, else in ten inner folds. Embeddings are not normalised. The network's accuracies are a metric of
their own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, PositiveFloat

from ease.errors import EaseError
from ease.evaluation.classifier import LabelledEmbeddings
from ease.evaluation.items import mean_items
from ease.evaluation.logistic_regression import (
    LOGISTIC_REGRESSION,
    Family,
    Folds,
    Outcome,
    cross_validate,
    train_and_test,
)
from ease.evaluation.network import NetworkClassifier, NetworkOptions
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average, error_prefix
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts, collect_texts
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.repetitions import repeated_score
from ease.io.text_tables import read_lines

logger = logging.getLogger(__name__)

TASK, METRIC, DEVELOPMENT_METRIC, NETWORK_METRIC = (
    "senteval",
    "accuracy",
    "development_accuracy",
    "network_accuracy",
)
KIND = "Classification"
SOURCE = (
    "https://github.com/facebookresearch/SentEval: data/downstream/get_transfer_data.bash writes MR, SUBJ, TREC and "
    "SST (each has its authors' terms, for research)"
)
FILES = {
    "mr": ("MR/rt-polarity.pos", "MR/rt-polarity.neg"),
    "subj": ("SUBJ/subj.objective", "SUBJ/subj.subjective"),
    "trec": ("TREC/train_5500.label", "TREC/TREC_10.label"),
    "sst2": tuple(f"SST/binary/sentiment-{split}" for split in ("train", "dev", "test")),
}
QUESTION_TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


class Options(SubsetOptions):
    """The folder of MR, SUBJ, TREC and SST, the sets to score, and the options of the classifiers."""

    folds: int = Field(
        10, ge=2, description="folds of sets without a test split, and inner folds that choose C"
    )
    seed: int = Field(1111, ge=0, lt=2**32, description="seed of the folds")
    strengths: tuple[PositiveFloat, ...] = Field(
        (0.25, 0.5, 1, 2, 4, 8),
        min_length=1,
        description="candidates for C of logistic regression",
    )
    strengths_trec: tuple[PositiveFloat, ...] = Field(
        (0.5, 1, 2, 4, 8, 16, 32), min_length=1, description="candidates for TREC, as in SentEval"
    )
    network: NetworkOptions | None = Field(
        None,
        description="also score a network with dropout (DuEAM, Table 6); null: logistic regression alone",
    )


def files(options: Options) -> Files:
    """The files of each set's two classes or splits."""
    return options.select(
        {subset: tuple(options.path / file for file in names) for subset, names in FILES.items()}
    )


def read_classes(paths: tuple[Path, ...]) -> LabelledTexts:
    """Read the files of MR or SUBJ, one per class, of one sentence a line in UTF-8 or Latin-1."""
    parts = []
    for path in paths:
        rows = ((f"{path}, line {n}", path.name, text) for n, text in read_lines(path, latin1=True))
        parts.append(collect_texts(path, rows))
    texts, labels = ([row for part in parts for row in getattr(part, side)] for side in ("texts", "labels"))
    return LabelledTexts(texts, labels, sum(part.blank for part in parts))


def read_questions(path: Path) -> LabelledTexts:
    """Read TREC's lines of a type, a colon, a subtype, a space and a question, in UTF-8 or Latin-1."""

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in read_lines(path, latin1=True):
            if line.strip():
                kind, colon, rest = line.partition(":")
                if not colon or kind not in QUESTION_TYPES:
                    raise EaseError(
                        f"{path}, line {number}: does not begin with {', '.join(QUESTION_TYPES)} and a colon; is it "
                        "another kind of file?"
                    )
                yield f"{path}, line {number}", kind, rest.partition(" ")[2]

    return collect_texts(path, rows())


def read_sentiments(path: Path) -> LabelledTexts:
    """Read lines of a sentence, a tab and 0 (negative) or 1 (positive)."""

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in read_lines(path):
            if line.strip():
                text, _, label = line.rpartition("\t")
                if label.strip() not in ("0", "1"):
                    raise EaseError(f"{path}, line {number}: does not end with a tab and the label 0 or 1.")
                yield f"{path}, line {number}", label, text

    return collect_texts(path, rows())


def read_set(subset: str, paths: tuple[Path, ...]) -> dict[str, LabelledTexts]:
    """Read the splits of a set; a single split is called `all`."""
    if subset == "trec":
        return dict(zip(("train", "test"), map(read_questions, paths), strict=True))
    if subset == "sst2":
        return dict(zip(("train", "dev", "test"), map(read_sentiments, paths), strict=True))
    return {"all": read_classes(paths)}


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy of each classifier on each set and on the data that chose C, and the mean accuracies over the sets.

    The deviation of a set without a test split is over its folds.
    """
    scores: list[Score] = []
    for subset, paths in available_subsets(files(options)).items():
        texts = read_set(subset, paths)
        with error_prefix(f"{TASK} {subset}"):
            tested = [(text,) for text in (texts.get("test") or texts["all"]).texts]
            scores += _score(_embedded(encode, texts), subset, options, _note(texts), tested)
    shown = [[score for score in scores if score.metric == metric] for metric in (METRIC, NETWORK_METRIC)]
    return [*scores, *(average(own, len(FILES)) for own in shown if own)]


def _note(texts: Mapping[str, LabelledTexts]) -> str:
    return "; ".join(f"{split}: {part.note}" for split, part in texts.items() if part.note)


def _embedded(encode: Encode, texts: Mapping[str, LabelledTexts]) -> dict[str, LabelledEmbeddings]:
    return {
        split: LabelledEmbeddings(encode(part.texts), part.labels, f"embeddings of {split}")
        for split, part in texts.items()
    }


def _score(
    data: Mapping[str, LabelledEmbeddings],
    subset: str,
    options: Options,
    note: str,
    tested: Sequence[tuple[str, ...]],
) -> list[Score]:
    folds = Folds(options.folds, options.seed)
    strengths = options.strengths_trec if subset == "trec" else options.strengths
    outcome = _tested(data, strengths, folds, LOGISTIC_REGRESSION)
    items = mean_items(outcome.hits, tested, outcome.weights)
    scores = [repeated_score(TASK, subset, METRIC, outcome.accuracies, note, items)]
    if outcome.development:
        scores.append(repeated_score(TASK, subset, DEVELOPMENT_METRIC, outcome.development))
    logger.info(
        "%s %s: accuracy %.1f with C %s",
        *(TASK, subset, scores[0].value, ", ".join(f"{c:g}" for c in sorted({*outcome.strengths}))),
    )
    if options.network is not None:
        given = options.network.model_dump(exclude={"weight_decays"})
        family = Family(NetworkClassifier(**given, seed=options.seed), "weight_decay")
        outcome = _tested(data, options.network.weight_decays, folds, family)
        items = mean_items(outcome.hits, tested, outcome.weights)
        scores.append(repeated_score(TASK, subset, NETWORK_METRIC, outcome.accuracies, note, items))
    return scores


def _tested(
    data: Mapping[str, LabelledEmbeddings], strengths: Sequence[float], folds: Folds, family: Family
) -> Outcome:
    if "all" in data:
        return cross_validate(data["all"], strengths, folds, family)
    return train_and_test(data["train"], data["test"], strengths, data.get("dev", folds), family)
