"""MLDoc: classification of Reuters news by four topics, trained in English and tested in seven other languages.

Section 5.4, Table 6 and appendix D of EASE; Schwenk and Li (2018). A linear classifier is trained on embeddings of
`english.train.1000` by a frozen encoder. Batch size and learning rate are those of the best mean accuracy on
`english.dev` over the seeds. Optimiser, epochs and text cleaning follow the code published with EASE, which left the
encoder's dropout on while the classifier was trained; here it is off.
"""

from __future__ import annotations

import ast
import re
from functools import partial
from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.labelled_texts import read_tab_separated
from ease.evaluation.tasks.components.transfer import METRIC, LabelledFile, TransferOptions, score_transfer
from ease.wikimedia.languages import Language

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

TASK = "mldoc"
KIND = "Classification"
SOURCE = (
    "https://github.com/facebookresearch/MLDoc: its generate_documents.py writes {language}.{train.1000,dev,test} from "
    "Reuters RCV1 and RCV2, which NIST gives for research under an agreement "
    "(https://trec.nist.gov/data/reuters/reuters.html)"
)
CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")
LANGUAGES = {language: Language(language).english_name.lower() for language in "de es fr it ja ru zh".split()}
COPYRIGHT = re.compile(r"\(c\) Reuters Limited \d{4}")


class Options(TransferOptions):
    """The folder of english.train.1000, english.dev and german.test to chinese.test, and the grid."""


def files(options: Options) -> Files:
    """The English training and development files, and each language's test file."""
    english = (options.path / "english.train.1000", options.path / "english.dev")
    return {
        language: (*english, options.path / f"{LANGUAGES[language]}.test")
        for language in options.chosen(LANGUAGES)
    }


def clean_document(text: str) -> str:
    r"""Remove the copyright line and repeated white space, as EASE's code does.

    Under Python 3, MLDoc's scripts write bytes literals such as b'caf\xc3\xa9' instead of UTF-8; these are decoded.

    Raises:
        ValueError: If a bytes literal is broken.
    """
    if re.fullmatch(r"b'.*'|b\".*\"", text):
        try:
            text = ast.literal_eval(text).decode("utf-8")
        except (SyntaxError, ValueError, AttributeError, MemoryError, RecursionError) as error:
            raise ValueError(
                f"the text looks like a Python bytes literal, but is broken ({error})."
            ) from error
    return " ".join(COPYRIGHT.sub("", text).split())


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy in each language and their average, and the accuracy on the English development data."""

    def read(path: Path) -> LabelledFile:
        documents = read_tab_separated(path, CATEGORIES, clean_document)
        name = f"embeddings of {path.name}"
        return LabelledFile(
            partial(encode, documents.texts),
            documents.labels,
            name,
            documents.note,
            [(text,) for text in documents.texts],
        )

    return score_transfer(read, available_subsets(files(options)), options, TASK, len(LANGUAGES))
