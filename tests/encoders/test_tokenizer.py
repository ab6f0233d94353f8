"""A trained tokenizer covers every script, is reproducible in every process, and loads in transformers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from ease.encoders.tokenizer import train_tokenizer
from ease.errors import EaseError

TEXT = [
    "Berlin is the capital of Germany.",
    "ベルリンはドイツの首都です。",
    "베를린은 독일의 수도이다.",
    "برلين هي عاصمة ألمانيا",
    "Берлин — столица Германии",
    "Berlín je hlavní město Německa",
] * 5


def test_all_scripts_are_tokenized_without_unknown_tokens(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(TEXT, 400, 32)
    assert len(tokenizer) <= 400
    for sentence in TEXT[:6]:
        tokens = tokenizer.tokenize(sentence)
        assert "[UNK]" not in tokens, sentence
        assert tokenizer.decode(tokenizer(sentence)["input_ids"], skip_special_tokens=True) == sentence
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    encoded = loaded(["Berlin is the capital", "is"], padding=True)
    assert encoded["input_ids"][0][0] == loaded.cls_token_id
    assert encoded["input_ids"][1][-1] == loaded.pad_token_id
    assert encoded["attention_mask"][1][-1] == 0
    assert loaded.model_max_length == 32


def test_lower_case_is_an_option() -> None:
    assert train_tokenizer(TEXT, 400, 32, lowercase=True).tokenize("BERLIN") == train_tokenizer(
        TEXT, 400, 32, lowercase=True
    ).tokenize("berlin")
    kept = train_tokenizer(TEXT, 400, 32)
    assert kept.tokenize("BERLIN") != kept.tokenize("berlin")


def test_other_processes_learn_the_same_vocabulary(tmp_path: Path) -> None:
    text = tmp_path / "text.json"
    text.write_text(json.dumps(TEXT), encoding="utf-8")
    script = (
        "import json, sys\n"
        "from ease.encoders.tokenizer import train_tokenizer\n"
        "text = json.load(open(sys.argv[1], encoding='utf-8'))\n"
        "print(json.dumps(train_tokenizer(text, 300, 32).get_vocab(), sort_keys=True))\n"
    )
    source = Path(__file__).parents[2] / "src"
    ended = subprocess.run(
        [sys.executable, "-c", script, str(text)],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(source)},
    )
    assert json.loads(ended.stdout) == train_tokenizer(TEXT, 300, 32).get_vocab()


def test_max_sentences_limits_the_sentences_read() -> None:
    read = 0

    def sentences() -> object:
        nonlocal read
        for sentence in TEXT:
            read += 1
            yield sentence

    train_tokenizer(sentences(), 300, 32, max_sentences=7)  # type: ignore[arg-type]
    assert read == 7


@pytest.mark.parametrize("sentences", [[], ["", "  "]])
def test_no_text_is_an_error(sentences: list[str]) -> None:
    with pytest.raises(EaseError, match="No sentence to train the tokenizer on"):
        train_tokenizer(sentences, 300, 32)
