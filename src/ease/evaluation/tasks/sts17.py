"""STS 2017 with its later language pairs, graded 0 to 5 (Cer et al., 2017; Reimers and Gurevych, 2020)."""

from __future__ import annotations

from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average
from ease.evaluation.tasks.components import graded_pairs as graded
from ease.evaluation.tasks.components.options import SubsetOptions

METRIC = "spearman"
KIND = "STS"
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

EXTENDED = graded.GradedColumns(left=0, right=1, gold=2, lowest=0, highest=5)


class Options(SubsetOptions):
    """The folder of the files or of the archives' folders, and the language pairs to score."""


def files(options: Options) -> Files:
    """SemEval's sentences and grades, or one file of the extended set, whichever exists."""
    return {pair: _present(options.path, pair) for pair in options.chosen(PAIRS)}


def read_pairs(options: Options) -> dict[str, list[graded.GradedPair]]:
    """Read each language pair whose files exist."""
    found = available_subsets(files(options))
    return {
        pair: graded.read_paired_files(path, *grades) if grades else graded.read_graded_pairs(path, EXTENDED)
        for pair, (path, *grades) in found.items()
    }


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each language pair, and the mean (Table 2)."""
    scores = graded.score_graded_sets(encode, read_pairs(options), "sts17")
    return [*scores, average(scores, len(PAIRS))]


def _present(folder: Path, pair: str) -> tuple[Path, ...]:
    """Return the files of the first format that exists in the folder or in its subfolders, else of the first format."""
    first, second = pair.split("-")
    forms: list[tuple[str, ...]] = [(f"STS.{first}-{second}.txt",), (f"STS.{second}-{first}.txt",)]
    if second not in (
        "ar",
        "de",
        "tr",
    ):  # the extended set has en-ar, en-de and en-tr, but es-en, fr-en and so on
        forms.reverse()
    if pair in TRACKS:
        forms.insert(0, (f"STS.input.{TRACKS[pair]}.txt", f"STS.gs.{TRACKS[pair]}.txt"))
    placed = [tuple(_locate(folder, name) for name in names) for names in forms]
    return next((paths for paths in placed if all(path.exists() for path in paths)), placed[0])


def _locate(folder: Path, name: str) -> Path:
    return next(
        (path for path in [folder / name, *sorted(folder.glob(f"*/{name}"))] if path.exists()), folder / name
    )
