"""STS 2017 with its later language pairs, graded 0 to 5 (Cer et al., 2017; Reimers and Gurevych, 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average
from ease.evaluation.tasks.components.graded_pairs import (
    GradedColumns,
    GradedPair,
    read_graded_pairs,
    read_paired_files,
    score_graded_pairs,
)
from ease.evaluation.tasks.components.options import SubsetOptions

METRIC = "spearman"
SOURCE = (
    "http://alt.qcri.org/semeval2017/task1/data/uploads/: sts2017.eval.v1.1.zip and sts2017.gs.zip; en-de, en-fr, "
    "en-it and en-nl, and copies of the others, https://sbert.net/datasets/STS2017-extended.zip; unpack all into "
    "the task's folder (CC BY-SA 4.0)"
)
TRACKS = {
    "en-en": "track5.en-en",
    "ar-ar": "track1.ar-ar",
    "es-es": "track3.es-es",
    "en-ar": "track2.ar-en",
    "en-es": "track4a.es-en",
    "en-tr": "track6.tr-en",
}
PAIRS = ("en-en", "ar-ar", "es-es", "en-ar", "en-de", "en-tr", "en-es", "en-fr", "en-it", "en-nl")
"""Table 2, in its order."""

EXTENDED = GradedColumns(left=0, right=1, gold=2, lowest=0, highest=5)


class Options(SubsetOptions):
    """The folder of the files or of the archives' folders, and the language pairs to score."""


def files(options: Options) -> Files:
    """SemEval's sentences and grades, or one file of the extended set, whichever exists."""
    return {pair: _present(options.path, pair) for pair in options.chosen(PAIRS)}


def read_pairs(options: Options) -> dict[str, list[GradedPair]]:
    """Read each language pair whose files exist."""
    return {pair: _read(paths) for pair, paths in available_subsets(files(options)).items()}


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each language pair, and the mean (Table 2)."""
    scores = [score_graded_pairs(encode, pairs, "sts17", pair) for pair, pairs in read_pairs(options).items()]
    return [*scores, average(scores, len(PAIRS))]


def _read(paths: tuple[Path, ...]) -> list[GradedPair]:
    if len(paths) == 1:
        return read_graded_pairs(paths[0], EXTENDED)
    sentences, grades = paths
    return read_paired_files(sentences, grades)


def _present(folder: Path, pair: str) -> tuple[Path, ...]:
    """Return the first format whose files exist, else the first format."""
    forms = [tuple(_locate(folder, name) for name in names) for names in _forms(pair)]
    return next((paths for paths in forms if all(path.exists() for path in paths)), forms[0])


def _forms(pair: str) -> Iterator[tuple[str, ...]]:
    """Yield the file names of each format; the extended set names some languages before English."""
    if pair in TRACKS:
        yield f"STS.input.{TRACKS[pair]}.txt", f"STS.gs.{TRACKS[pair]}.txt"
    first, second = pair.split("-")
    names = [f"STS.{first}-{second}.txt", f"STS.{second}-{first}.txt"]
    # It has en-ar, en-de and en-tr, but es-en, fr-en, it-en and nl-en.
    for name in names if second in ("ar", "de", "tr") else reversed(names):
        yield (name,)


def _locate(folder: Path, name: str) -> Path:
    """Find a file in the folder or in one of its subfolders."""
    return next(
        (path for path in [folder / name, *sorted(folder.glob(f"*/{name}"))] if path.exists()), folder / name
    )
