"""SimLex-999 and its translations: word pairs graded 0 to 10 (Hill et al., 2015; Leviant and Reichart, 2015).

Mirror-BERT tunes its word encoders on SimLex-999 (section 3).
"""

from __future__ import annotations

from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average
from ease.evaluation.tasks.components import graded_pairs as graded
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.text_tables import read_rows

TASK, METRIC = "simlex", "spearman"
KIND = "STS"
SOURCE = (
    "https://fh295.github.io/SimLex-999.zip: SimLex-999.txt (English); "
    "https://leviants.com/multilingual-simlex999-and-wordsim353/: SimLex_ALL_Langs_TXT_Format.zip, which holds "
    "MSimLex999_{German,Italian,Russian}.txt (no licence stated: for research)"
)
LOWEST, HIGHEST = 0, 10
ENGLISH = graded.GradedColumns(left="word1", right="word2", gold="SimLex999", lowest=LOWEST, highest=HIGHEST)
FILES = {
    "en": "SimLex-999.txt",
    "de": "MSimLex999_German.txt",
    "it": "MSimLex999_Italian.txt",
    "ru": "MSimLex999_Russian.txt",
}
MEAN = "average"
"""In the name of the last column of a translation: the mean of its annotators' grades."""


class Options(SubsetOptions):
    """The folder of SimLex-999.txt and MSimLex999_{German,Italian,Russian}.txt, and the languages to score."""


def files(options: Options) -> Files:
    """One file per language."""
    return options.select({language: (options.path / name,) for language, name in FILES.items()})


def read_translated(path: Path) -> list[graded.GradedPair]:
    """Read a comma-separated file: two words, the annotators' grades and, in the last column, their mean."""
    rows = [(number, row) for number, row in read_rows(path, ",", quoted=True) if any(map(str.strip, row))]
    _, header = rows[0] if rows else (1, [])
    if len(header) < 3 or MEAN not in header[-1].lower():
        raise EaseError(
            f"{path}: the first line is not a header of two words, grades and, last, their average; fetch it again."
        )
    pairs = []
    for number, row in rows[1:]:
        place = f"{path}, line {number}"
        if len(row) != len(header):
            raise EaseError(f"{place}: {len(row)} columns, but the header has {len(header)}; fetch it again.")
        gold = graded.parse_gold(row[-1], LOWEST, HIGHEST, place)
        pairs.append(graded.GradedPair(row[0].strip(), row[1].strip(), gold))
    if not pairs:
        raise EaseError(f"{path}: contains no word pair; fetch it again.")
    return pairs


def read_pairs(options: Options) -> dict[str, list[graded.GradedPair]]:
    """Read the word pairs of each language whose file exists."""
    return {
        language: graded.read_graded_pairs(path, ENGLISH) if language == "en" else read_translated(path)
        for language, (path,) in available_subsets(files(options)).items()
    }


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each language, and the mean."""
    scores = graded.score_graded_sets(encode, read_pairs(options), TASK)
    return [*scores, average(scores, len(files(options)))] if len(files(options)) > 1 else scores
