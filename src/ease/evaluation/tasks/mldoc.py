"""MLDoc: classification of Reuters news by four topics, trained in English and tested in seven other languages.

Section 5.4, Table 6 and appendix D of EASE; Schwenk and Li (2018). Optimiser, epochs and text cleaning follow the code
published with EASE, which left the encoder's dropout on while the classifier was trained; here it is off.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.evaluation.classifiers import LabelledEmbeddings
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import Files
from ease.evaluation.tasks.labelled_texts import LabelledTexts, collect_texts
from ease.evaluation.tasks.set_files import SetFiles, read_fields
from ease.evaluation.tasks.transfer import Transfer, TransferOptions
from ease.wikimedia.languages import Language

CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")
LANGUAGES = {language: Language(language).english_name.lower() for language in "de es fr it ja ru zh".split()}
COPYRIGHT = re.compile(r"\(c\) Reuters Limited \d{4}")


class MLDoc(Transfer):
    """Linear classifiers of the topics of documents."""

    KIND = "Classification"
    known = tuple(LANGUAGES)

    def files(self, options: TransferOptions) -> Files:
        """Return the English training and development files, and each language's test file."""
        english = (options.path / "english.train.1000", options.path / "english.dev")
        return {
            language: (*english, options.path / f"{LANGUAGES[language]}.test")
            for language in options.chosen(LANGUAGES)
        }

    def read_file(self, path: Path) -> LabelledTexts:
        """Read lines of a topic, a tab and a document."""
        rows = []
        for place, row in read_fields([path], {"label": 1, "text": 2}, SetFiles(format="label_tab_text")):
            if row["label"] and row["label"] not in CATEGORIES:
                raise EaseError(f"{place}: the label {row['label']!r} is not one of {', '.join(CATEGORIES)}.")
            try:
                rows.append((place, row["label"], clean_document(row["text"])))
            except ValueError as error:
                raise EaseError(f"{place}: {error}") from error
        return collect_texts(path, rows)

    def item_texts_of(self, data: LabelledTexts) -> list[tuple[str, ...]]:
        """Return each document."""
        return [(text,) for text in data.texts]

    def embed(self, encode: Encode, data: LabelledTexts, name: str) -> LabelledEmbeddings:
        """Encode the documents."""
        return LabelledEmbeddings(encode(data.texts), data.labels, name)


TASK: Any = MLDoc


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
