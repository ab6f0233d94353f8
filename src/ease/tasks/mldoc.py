"""MLDoc: four topics of Reuters news; a classifier learns in English and is tested in seven other languages.

Section 5.4, Table 6 and appendix D of EASE; Schwenk and Li (2018). Frozen embeddings, a linear classifier trained on
`english.train.1000`; batch size and learning rate are those of the best mean accuracy on `english.dev` over the seeds.
Optimiser, epochs and cleaning of the text follow the code published with EASE. There a classifier was trained on
embeddings with the encoder's dropout switched on; here they are those that the encoder gives in use.
"""

from __future__ import annotations

import ast
import logging
import re
from itertools import product
from pathlib import Path

from pydantic import Field, PositiveFloat, PositiveInt

from ease.classifier import ClassifierSettings, LabelledEmbeddings, Selection, select_classifiers
from ease.errors import EaseError
from ease.tasks import Encode, Files, Score, at_hand, average
from ease.tasks._labelled import LabelledTexts, read_tab_separated
from ease.tasks._options import SubsetOptions
from ease.tasks._repetitions import Seeds, repeated_score

logger = logging.getLogger(__name__)

TASK, METRIC, DEVELOPMENT_METRIC = "mldoc", "accuracy", "development_accuracy"
SOURCE = (
    "https://github.com/facebookresearch/MLDoc: its generate_documents.py writes {language}.{train.1000,dev,test} from "
    "Reuters RCV1 and RCV2, which NIST gives for research under an agreement "
    "(https://trec.nist.gov/data/reuters/reuters.html)"
)
CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")
LANGUAGES = {
    **{"de": "german", "es": "spanish", "fr": "french", "it": "italian"},
    **{"ja": "japanese", "ru": "russian", "zh": "chinese"},
}
COPYRIGHT = re.compile(r"\(c\) Reuters Limited \d{4}")


class Options(SubsetOptions):
    """The folder that holds english.train.1000, english.dev and german.test to chinese.test, and the grid."""

    seeds: Seeds = Field((42, 43, 44), description="seeds of the classifier, whose scores are averaged")
    batch_sizes: tuple[PositiveInt, ...] = Field((32, 64, 128), min_length=1, description="of the grid")
    learning_rates: tuple[PositiveFloat, ...] = Field(
        (0.1, 0.01, 0.001), min_length=1, description="of the grid"
    )
    epochs: PositiveInt = Field(5, description="passes over the training data")
    weight_decay: float = Field(0.0, ge=0, description="of AdamW")
    clip_norm: PositiveFloat = Field(1.0, description="longest gradient; longer ones are shortened to it")
    evaluation_steps: PositiveInt = Field(10, description="steps between two looks at the development data")

    @property
    def grid(self) -> list[ClassifierSettings]:
        """All pairs of a batch size and a learning rate."""
        return [
            ClassifierSettings(
                *(batch_size, rate, self.epochs, self.weight_decay, self.clip_norm, self.evaluation_steps)
            )
            for batch_size, rate in product(self.batch_sizes, self.learning_rates)
        ]


def files(options: Options) -> Files:
    """The English files to learn from, and the test file of each language."""
    english = (options.path / "english.train.1000", options.path / "english.dev")
    return {
        language: (*english, options.path / f"{LANGUAGES[language]}.test")
        for language in options.chosen(LANGUAGES)
    }


def clean_document(text: str) -> str:
    r"""Undo what the scripts of MLDoc leave in a document, as EASE's do: the copyright line, runs of white space.

    Under Python 3 those scripts write the notation of bytes, such as b'caf\xc3\xa9', instead of UTF-8: it is decoded.

    Raises:
        ValueError: If such a notation is broken.
    """
    if re.fullmatch(r"b'.*'|b\".*\"", text):
        try:
            text = ast.literal_eval(text).decode("utf-8")
        except (SyntaxError, ValueError) as error:
            raise ValueError(
                f"the text looks like bytes as Python writes them, but is broken ({error})."
            ) from error
    return " ".join(COPYRIGHT.sub("", text).split())


def read_documents(path: Path) -> LabelledTexts:
    """Read documents with their categories.

    Raises:
        EaseError: Naming the file and line that is wrong.
    """
    return read_tab_separated(path, CATEGORIES, clean_document)


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy in each language and their average, and the accuracy on the English development data.

    Raises:
        EaseError: Naming the task, if a file is wrong or the embeddings are not finite.
    """
    found = at_hand(files(options))
    notes: dict[str, str] = {}

    def embedded(path: Path) -> LabelledEmbeddings:
        documents = read_documents(path)
        notes[path.name] = documents.note
        return LabelledEmbeddings(encode(documents.texts), documents.labels, f"embeddings of {path.name}")

    training, development, _ = next(iter(found.values()))
    try:
        selection = select_classifiers(embedded(training), embedded(development), options.grid, options.seeds)
        scores = []
        for language, (_, _, test) in found.items():
            data = embedded(test)
            accuracies = [classifier.accuracy(data) for classifier in selection.classifiers]
            scores.append(repeated_score(TASK, language, METRIC, accuracies, notes[test.name]))
    except EaseError as error:
        raise EaseError(f"{TASK}: {error}") from error
    mean = average(scores, len(LANGUAGES))
    english = _english_score(selection)
    logger.info(
        "%s: accuracy %.1f over %d languages; English %.1f, %s",
        *(TASK, mean.value, len(scores), english.value, english.note),
    )
    return [english, *scores, mean]


def _english_score(selection: Selection) -> Score:
    """The accuracy that chose the settings, with what they are."""
    chosen = selection.settings
    note = f"batch size {chosen.batch_size}, learning rate {chosen.learning_rate:g}"
    return repeated_score(TASK, "en", DEVELOPMENT_METRIC, selection.accuracies, note)
