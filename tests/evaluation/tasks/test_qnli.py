"""QNLI: the development set agrees with the rank-sum statistic; invalid files are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ease.evaluation.tasks.components.graded_pairs import GradedPair, pair_cosines
from scipy.stats import mannwhitneyu

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, qnli

HEADER = "index\tquestion\tsentence\tlabel\n"
ROWS = "0\ta b\ta b\tentailment\n1\ta b\ta c\tnot_entailment\n"


def write(folder: Path, text: str, split: str = "dev") -> qnli.Options:
    (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    return qnli.Options(path=folder, subsets=(split,))


def test_the_development_set_agrees_with_the_rank_sums(test_data: Path, encode: Encode) -> None:
    folder = test_data / "eval" / "qnli"
    (score,) = qnli.evaluate(encode, qnli.Options(path=folder, subsets=("dev",)))
    lines = (folder / "dev.tsv").read_text(encoding="utf-8").removesuffix("\n").split("\n")[1:]
    fields = [line.split("\t") for line in lines]
    left, right = (encode([row[column] for row in fields]).astype(float) for column in (1, 2))
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    cosines = cosines.round(9)  # equal ones differ by rounding
    answers = np.array([row[3] == "entailment" for row in fields])
    assert (len(fields), answers.sum()) == (5463, 2702)
    statistic = mannwhitneyu(cosines[answers], cosines[~answers]).statistic
    expected = statistic / (answers.sum() * (~answers).sum())
    assert (score.task, score.subset, score.metric) == ("qnli", "dev", qnli.METRIC)
    assert score.value == pytest.approx(100 * expected, abs=0.01)
    assert 60 < score.value < 80


def test_the_score_counts_pairs_in_the_right_order_and_half_of_the_ties(
    tmp_path: Path, encode: Encode
) -> None:
    # Cosines 1 and 0.5 for answers, 0.5 and 0 for others: three of four comparisons are right, one is a tie.
    rows = ROWS + "2\ta b\tb c\tentailment\n3\ta b\tc d\tnot_entailment\n"
    (score,) = qnli.evaluate(encode, write(tmp_path, HEADER + rows))
    assert score.value == pytest.approx(100 * 3.5 / 4)


@pytest.mark.parametrize("block", [1, 3, 100])
def test_pairs_are_encoded_in_blocks(tmp_path: Path, encode: Encode, block: int) -> None:
    lines = "".join(
        f"{n}\tw{n} a\tw{n % 3} a\t{'entailment' if n % 2 else 'not_entailment'}\n" for n in range(10)
    )
    pairs = qnli.read_pairs(write(tmp_path, HEADER + lines))["dev"]
    sizes = []

    def counted(sentences: Sequence[str]) -> np.ndarray:
        sizes.append(len(sentences))
        return encode(sentences)

    cosines = pair_cosines(counted, pairs, "qnli", block)
    np.testing.assert_allclose(cosines, [1, 1, 1, *[0.5] * 7], atol=1e-7)
    assert max(sizes) <= 2 * block
    assert sum(sizes) == 20


def test_quotation_marks_are_text_and_columns_are_found_by_name(tmp_path: Path, encode: Encode) -> None:
    text = 'label\tsentence\tquestion\r\nentailment\t"a b\t"a b\r\n\r\nnot_entailment\ta" c"\t"x\r\n'
    options = write(tmp_path, "\ufeff" + text, "train")
    assert qnli.read_pairs(options)["train"] == [GradedPair('"a b', '"a b', 1), GradedPair('"x', 'a" c"', 0)]
    assert qnli.evaluate(encode, options)[0].value == 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "dev.tsv: contains no row"),
        ("\n\n", "dev.tsv: contains no row"),
        (HEADER, "dev.tsv: contains no row"),
        (
            "index\tquestion\tsentence\n0\ta\tb\n",
            "dev.tsv: no column label; it has index, question, sentence",
        ),
        (HEADER + ROWS + "\n2\ta\tentailment\n", "line 5: 3 columns, but the first line has 4"),
        (HEADER + ROWS + "2\ta\tb\tc\tentailment\n", "line 4: 5 columns"),
        (
            HEADER + ROWS + "2\ta\tb\tneutral\n",
            "line 4: the label 'neutral' is not one of entailment, not_entailment",
        ),
        (HEADER + ROWS + "2\ta\t \tentailment\n", "line 4: the question or the sentence is missing"),
        (HEADER + ROWS.replace("not_", ""), "all 2 pairs have one label"),
        (HEADER + "0\ta\tb\tnot_entailment\n", "all 1 pairs have one label"),
    ],
)
def test_errors_name_invalid_files(tmp_path: Path, encode: Encode, text: str, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        qnli.evaluate(encode, write(tmp_path, text))


def test_errors_name_other_faults(tmp_path: Path, encode: Encode) -> None:
    options = write(tmp_path, HEADER + ROWS)
    (tmp_path / "dev.tsv").write_bytes(HEADER.encode() + b"0\t\xe9\tb\tentailment\n")
    with pytest.raises(EaseError, match=r"dev\.tsv, line 2: not UTF-8"):
        qnli.evaluate(encode, options)
    write(tmp_path, HEADER + ROWS)
    with pytest.raises(EaseError, match="qnli dev: 2 of 2 rows of the left embeddings are zero"):
        qnli.evaluate(lambda sentences: np.zeros((len(sentences), 2)), options)


def test_a_collapsed_encoder_is_at_chance(tmp_path: Path) -> None:
    options = write(tmp_path, HEADER + ROWS)
    assert qnli.evaluate(lambda sentences: np.ones((len(sentences), 2)), options)[0].value == 50
