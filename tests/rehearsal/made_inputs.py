"""Small inputs of a run at the paper's scale: dumps, training texts, word vectors and evaluation sets."""

from __future__ import annotations

import csv
import gzip
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from ease.evaluation.tasks import multisimlex
from ease.sample.news.writer import write_sample_news
from ease.sample.options import SampleNewsOptions, SampleOptions
from ease.sample.wiki import write_sample
from ease.wikimedia.languages import PAPER_LANGUAGES
from tests.evaluation.tasks import test_bel, test_bucc, test_multisimlex, test_rows, test_senteval, test_transfer
from tests.evaluation.tasks.test_tasks import CONFIGURATION
from tests.made_pairs import make_records, write_array

LINES = 40
"""Lines kept of a file of a real evaluation set."""
TREC_LINES = 600
"""Enough lines to divide the smallest class into folds."""
TRANSLATED = ("en", "ar", "bg", "de", "el", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")
"""XNLI's languages."""
TED2020 = {"am-en": 21_000, "en-ka": 31_000, "de-en": 30_000, "en-es": 30_000, "en-fr": 30_000}
"""Number of lines of each pair of DuEAM's small training sets, of which `conf/paper` takes as many as the paper."""
NLI_ROWS = 3_300
"""Rows of each language: enough for the 25,000 pairs in four languages of DuEAM's Table 8."""
CLUSTERED = ("en", "ja", "ar")
"""Languages of MewsC-16, whose clustering takes seconds for each."""
TATOEBA = ("deu", "hin", "tur", "ara", "bul", "cat", "epo")
TATOEBA_MADE = ("fra", "kab", "pam", "cor", "bre", "mhr")
WORD_LISTS = (
    *(f"{code}_words_top_10k.txt" for code in ("ar", "et", "fr", "pl", "ru", "zh")),
    *(f"{language}.txt" for language in ("hebrew", "italian", "spanish", "turkish")),
)
"""Mirror-BERT's words by language."""
RELEASED = "data/01_raw/texts/ease-dataset-18-langs.json"
"""Pairs in the form of those that EASE's authors released."""
WIKIMATRIX_LISTS = tuple(f"{name}_wikimatrix_10k_sents_random_sampled.txt" for name in ("arabic", "russian"))
SAMPLE = {
    "territories": 60,
    "sentences_per_language": 300,
    "parallel_facts": 20,
    "graded_pairs": 12,
    "graded_territories": 12,
}


def read_sentences(data: Path) -> list[str]:
    """Sentences of all languages in a folder of real evaluation sets, to train tokenizers on and to make texts of."""
    files = [data / "nli" / "snli" / "s1.dev", *sorted((data / "mewsc16").glob("*_sentences.txt"))]
    read = (file.read_text(encoding="utf-8").splitlines()[:150] for file in files)
    return list(dict.fromkeys(line.strip() for lines in read for line in lines if line.strip()))


def write_dumps(raw: Path) -> None:
    """Write dumps of the 18 Wikipedias, of Wikidata and of Wikinews into `data/01_raw`."""
    sample = write_sample(raw / "made", PAPER_LANGUAGES, SampleOptions.model_validate(SAMPLE))
    shutil.copytree(sample.wikipedia, raw / "wikipedia")
    (raw / "wikidata").mkdir()
    shutil.copy(sample.wikidata, raw / "wikidata")
    news = write_sample_news(raw / "made_news", options=SampleNewsOptions(news_per_language=60))
    shutil.copytree(news.wikinews, raw / "wikinews")


def write_texts(folder: Path, train: Path, sentences: Sequence[str]) -> None:
    """Write the training texts that `conf/paper` names, of real lists and at least 200 sentences."""
    folder.mkdir(parents=True)
    for file in ("stsbenchmark_train_10k_sents_random_sampled.txt", "en_words_top_10k.txt"):
        _write_lines(folder / file, (train / file).read_text(encoding="utf-8").splitlines()[:200])
    for name in ("wiki1m_for_simcse.txt", "umls_names.txt", *WIKIMATRIX_LISTS):
        _write_lines(folder / name, sentences[:200])
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence.split()))
    for place, name in enumerate(WORD_LISTS):
        _write_lines(folder / name, words[place : place + 300])
    # As many as `conf/paper` takes of them.
    _write_lines(folder / "wiki-100k.txt", ["#!comment: by frequency", *(f"word{row}" for row in range(100_000))])
    scored = "".join(f"1.1\tsentence {row}\tfrase número {row}\n" for row in range(10_050))
    write_array(folder / Path(RELEASED).name, make_records())
    (folder / "WikiMatrix.en-es.tsv.gz").write_bytes(gzip.compress(scored.encode()))
    for language in ("sw", "fr"):
        for side, first in ((language, 0), ("en", 100)):
            # As many as `conf/paper` takes of them.
            lines = (f"{sentences[first + row % 60]} {row}" for row in range(100_000))
            _write_lines(folder / f"ParaCrawl.en-{language}.{side}", lines)
    for pair, count in TED2020.items():
        for side, first in zip(pair.split("-"), (0, 100), strict=True):
            rows_of_side = (f"{sentences[first + row % 60]} {row}" for row in range(count))
            _write_lines(folder / f"TED2020.{pair}.{side}", rows_of_side)
    triplets = zip(sentences[:60], sentences[1:61], sentences[100:160], strict=True)
    with (folder / "nli_for_simcse.csv").open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([("sent0", "sent1", "hard_neg"), *triplets])
    translated = folder / "XNLI-MT-1.0" / "multinli"
    translated.mkdir(parents=True)
    labels = ("entailment", "neutral", "contradictory")
    for shift, language in enumerate(TRANSLATED):
        rows = [
            f"{sentences[shift + row // 3 % 60]} {row // 3}\t{sentences[60 + shift + row % 60]} {row}\t"
            f"{labels[row % 3]}"
            for row in range(NLI_ROWS)
        ]
        _write_lines(translated / f"multinli.train.{language}.tsv", ["premise\thypo\tlabel", *rows])


def write_vectors(file: Path, sentences: Sequence[str], dimension: int = 300) -> None:
    """Write word vectors in GloVe's format."""
    words = sorted({word.lower() for sentence in sentences for word in sentence.split() if word.isalpha()})
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        " ".join([word, *(f"{(hash_ % 19) / 19 - 0.5:.3f}" for hash_ in range(row, row + dimension))])
        for row, word in enumerate(words[:500])
    )
    _write_lines(file, lines)


def write_evaluation_sets(folder: Path, real: Path) -> None:
    """Write all evaluation sets: the first of the real ones' lines, and made ones where no real one is there."""
    names = ("sts", "stsb", "sick", "sts2017", "stc", "bli", "qnli", "senteval", "tnews")
    mewsc16 = [file for code in CLUSTERED for file in (real / "mewsc16").glob(f"{code}_*.txt")]
    for files in (mewsc16, *((real / name).rglob("*") for name in names)):
        for file in (path for path in files if path.is_file()):
            _thin(file, folder / file.relative_to(real), TREC_LINES if "TREC" in file.parts else LINES)
    for code in (*TATOEBA, *TATOEBA_MADE):
        source = code if code in TATOEBA else TATOEBA[0]
        for side, source_side in ((code, source), ("eng", "eng")):
            file = real / "tatoeba" / f"tatoeba.{source}-eng.{source_side}"
            _thin(file, folder / "tatoeba" / f"tatoeba.{code}-eng.{side}")
    # The test splits, which the real sets here lack, in the form of the development splits.
    shutil.copy(folder / "stsb" / "sts-dev.csv", folder / "stsb" / "sts-test.csv")
    shutil.copy(folder / "sick" / "SICK_trial.txt", folder / "sick" / "SICK_test_annotated.txt")
    _write_made_sets(folder)


def _write_made_sets(folder: Path) -> None:
    test_rows.write_xnli(folder / "xnli", 30)
    configured = (CONFIGURATION / "parallel_files.yml").read_text(encoding="utf-8")
    aligned = yaml.safe_load(configured)["tasks"]["parallel_files"]
    for own in aligned["sets"].values():
        for name in own["file"]:
            file = folder / aligned["path"] / name
            file.parent.mkdir(exist_ok=True)
            # Lines of names that all languages share, so that some translations are found.
            _write_lines(file, (f"{name.rpartition('.')[2]} name{row} number{row % 7}" for row in range(40)))
    for path in ("mldoc", "pawsx/x-final", "bucc2018", "multisimlex", "simlex", "russian_sts", "qqp"):
        (folder / path).mkdir(parents=True)
    test_transfer.write_mldoc(folder / "mldoc", list(test_transfer.LANGUAGES))
    test_transfer.write_pawsx(folder / "pawsx" / "x-final", "de en es fr ja ko zh".split())
    words, grades = test_multisimlex.WORDS["ENG"], test_multisimlex.GRADES["ENG"]
    codes = multisimlex.LANGUAGES.values()
    test_multisimlex.write(folder / "multisimlex", dict.fromkeys(codes, words), dict.fromkeys(codes, grades))
    test_rows.write_simlex(folder / "simlex", test_rows.PAIRS)
    test_rows.write_russian_sts(folder / "russian_sts")
    test_rows.write_qqp(folder / "qqp")
    rows = (f"{row}\tquestion {row}?\tanswer {row}\t{('not_', '')[row % 2]}entailment" for row in range(10_050))
    _write_lines(folder / "qnli" / "train.tsv", ["index\tquestion\tsentence\tlabel", *rows])
    test_bel.write_cometa(folder / "bel")
    test_bel.write_documents(folder / "bel", test_bel.document_line("breast cancer", "D1"))
    for split, seed in (("sample", 1), ("training", 2)):
        test_bucc.write_split(folder / "bucc2018", "de", split, *test_bucc.corpora(seed, 10, 5))
    made = {
        "subj": (test_senteval.reviews("bad", 30, 5), test_senteval.reviews("good", 30, 5)),
        "sst2": tuple(test_senteval.sentiments(20, seed) for seed in (1, 2, 3)),
    }
    for subset, texts in made.items():
        for name, text in zip(test_senteval.FILES[subset], texts, strict=True):
            file = folder / "senteval" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def _thin(source: Path, target: Path, kept: int = LINES) -> None:
    """Copy the first line, which may be a header, and evenly spaced others, so that parallel files stay parallel."""
    lines = source.read_bytes().splitlines(keepends=True)
    distance = max(1, len(lines) // kept)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"".join([*lines[:1], *lines[1::distance]]))


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
