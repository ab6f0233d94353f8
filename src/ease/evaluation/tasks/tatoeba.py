"""Tatoeba: retrieval between 112 languages and English (Artetxe and Schwenk, 2019; section 5.3).

Each language's sentences are matched with their English translations by cosine, in both directions. Accuracies are
over the pair's own number of sentences; smaller languages have fewer than 1,000.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, averages, score_subsets
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.parallel import METRIC, Sides, score_retrieval
from ease.io.text_tables import read_lines

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files", "read_parallel"]

logger = logging.getLogger(__name__)

TASK = "tatoeba"
KIND = "BitextMining"
SOURCE = (
    "https://github.com/facebookresearch/LASER/tree/main/data/tatoeba/v1: "
    "tatoeba.{afr,amh,...}-eng.{afr,amh,...,eng} (Tatoeba, CC BY 2.0 FR)"
)

LANGUAGES = tuple(
    "afr amh ang ara arq arz ast awa aze bel ben ber bos bre bul cat cbk ceb ces cha cmn cor csb cym dan deu dsb dtp "
    "ell epo est eus fao fin fra fry gla gle glg gsw heb hin hrv hsb hun hye ido ile ina ind isl ita jav jpn kab kat "
    "kaz khm kor kur kzj lat lfn lit lvs mal mar max mhr mkd mon nds nld nno nob nov oci orv pam pes pms pol por ron "
    "rus slk slv spa sqi srp swe swg swh tam tat tel tgl tha tuk tur tzl uig ukr urd uzb vie war wuu xho yid yue "
    "zsm".split()
)
"""All 112 languages, by the ISO 639-3 codes of the files."""

TABLE_4 = tuple("ara cat ces deu epo spa fra ita jpn kor nld pol por rus swe tur".split())
"""The languages of Table 4, in its order: EASE's training languages except English and Persian."""

OTHERS = tuple(code for code in LANGUAGES if code not in {*TABLE_4, "pes"})
"""Languages that EASE is not trained on: 95 by the files, while the paper's Table 5 averages 94."""

XTREME_36 = tuple(
    "afr ara ben bul cmn deu ell est eus fin fra heb hin hun ind ita jav jpn kat kaz kor mal mar nld pes por rus spa "
    "swh tam tel tgl tha tur urd vie".split()
)
"""The languages of Tatoeba in XTREME (Hu et al., 2020), where cmn is zh, pes is fa and swh is sw."""

XTREME_14 = tuple("ara bul cmn deu ell fra hin rus spa swh tha tur urd vie".split())
"""The languages of XTREME that XNLI has: Tatoeba-14 in Table 1 of mSimCSE (Wang et al., 2022)."""

GROUPS = {
    name: [f"{code}-eng" for code in codes]
    for name, codes in {
        "table4": TABLE_4,
        "others": OTHERS,
        "xtreme36": XTREME_36,
        "xtreme14": XTREME_14,
    }.items()
}
"""Language pairs of the averages `average_<group>`."""


class Options(SubsetOptions):
    """The folder of tatoeba.{xxx}-eng.{xxx,eng}, and the language pairs to score, such as deu-eng."""


def files(options: Options) -> Files:
    """Files of the other language and of English for each pair."""
    known = {
        f"{code}-eng": tuple(options.path / f"tatoeba.{code}-eng.{side}" for side in (code, "eng"))
        for code in LANGUAGES
    }
    return options.select(known)


def _read_sentences(path: Path) -> list[str]:
    """Read a file of one sentence a line."""
    sentences = []
    for number, line in read_lines(path):
        if not line.strip():
            raise EaseError(f"{path}, line {number}: no sentence; fetch the file again.")
        sentences.append(line.strip())
    if not sentences:
        raise EaseError(f"{path}: contains no sentence; fetch it again.")
    return sentences


def read_pair(own: Path, english: Path) -> tuple[list[str], list[str]]:
    """Read both sides of a language pair; line i of one is the translation of line i of the other."""
    left, right = _read_sentences(own), _read_sentences(english)
    if len(left) != len(right):
        raise EaseError(
            f"{own} has {len(left)} lines and {english} {len(right)}: fetch both again, so that line i of both match."
        )
    return left, right


def read_parallel(options: Options, subset: str) -> tuple[list[str], list[str]]:
    """Read both sides of a language pair such as deu-eng."""
    own, english = files(options.model_copy(update={"subsets": (subset,)}))[subset]
    return read_pair(own, english)


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Retrieval accuracy of each language pair, averaged over both directions, and means over all pairs and groups.

    Duplicate sentences on a side are ties, which are misses.
    """
    scores = score_subsets(
        TASK,
        files(options),
        lambda subset, paths: [score_retrieval(encode, TASK, subset, Sides(*read_pair(*paths)))],
    )
    means = averages(scores, len(LANGUAGES), GROUPS)
    logger.info("%s: %.1f of 100 retrieved, %d language pairs", TASK, means[0].value, len(scores))
    return [*scores, *means]
