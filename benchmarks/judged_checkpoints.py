"""Checkpoints of different quality, good and bad ones, and the texts on which `benchmarks.judge` compares them."""

from __future__ import annotations

import copy
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
from babel import Locale
from sentence_transformers import SentenceTransformer

from ease.encoders.precision import has_bf16
from ease.entities.audit import ANSWER, LEFT, LINKS, NAME_TITLE, RIGHT, SAME_LINK
from ease.methods.components.losses import info_nce
from ease.wikimedia.titles_file import read_titles
from ease.wikimedia.wikipedia import read_dump

ENGLISH = "en"
CHARACTERS = range(20, 121)
"""Lengths of the sentences, which decide how long a step takes"""
AUDIT_PAIRS = 150
ITEM_SENTENCES = 4
"""English sentences of an audited item: that of the pair, and its distractors"""
BATCH_SIZE = 16
NOISE = 0.12
"""Share of the characters that are replaced"""

TextPairs = list[tuple[str, str]]


class Corpus(NamedTuple):
    """What the training runs read; no title or sentence of the audit is in it."""

    titles: TextPairs
    """Titles of the same items in the language and in English"""
    linking: dict[str, list[str]]
    """Sentences of the language by each title that they link to"""

    @property
    def sentences(self) -> list[str]:
        """Each sentence once."""
        return list(dict.fromkeys(text for texts in self.linking.values() for text in texts))


def read_title_pairs(language: str, table: Path | None) -> TextPairs:
    """Return titles of the same items that differ in the language and English: of a table, or CLDR's names."""
    if table is None:
        own, english = Locale(language), Locale(ENGLISH)
        pairs = [
            (names[code], english_name)
            for kind in ("territories", "languages", "scripts")
            for names in [getattr(own, kind)]
            for code, english_name in getattr(english, kind).items()
            if code in names
        ]
    else:
        items = defaultdict[int, dict[str, str]](dict)
        for item, code, title in read_titles(table, [language, ENGLISH]):
            items[item][code] = title
        pairs = [(titles[language], titles[ENGLISH]) for titles in items.values() if len(titles) == 2]
    counts = Counter(title.lower() for pair in pairs for title in pair)
    # A title that is spelt alike in both languages is counted twice, like one of several items.
    unique = (pair for pair in pairs if all(counts[title.lower()] == 1 for title in pair))
    return [(own[0].upper() + own[1:], english[0].upper() + english[1:]) for own, english in unique]


def read_linking(dump: Path) -> dict[str, list[str]]:
    """Return the sentences of a dump by each title that they link to."""
    linking = defaultdict[str, list[str]](list)
    for article in read_dump(dump):
        for sentence in article.sentences():
            if len(sentence.text) in CHARACTERS:
                for title in dict.fromkeys(link.target for link in sentence.links):
                    linking[title].append(sentence.text)
    return linking


def split_corpus(
    titles: TextPairs, own: dict[str, list[str]], english: dict[str, list[str]]
) -> tuple[pd.DataFrame, Corpus]:
    """Return an audit of half of the titles, in the columns that the task reads, and what is left for training.

    Beside its titles, the audit has a pair of sentences that link to an item, with further English ones as distractors:
    `kept_neighbours` is measured on the English sentences.
    """
    shuffled = random.Random(0).sample(titles, len(titles))
    audited, trained = shuffled[::2], shuffled[1::2]
    rows: list[tuple[object, ...]] = []
    for number, pair in enumerate(audited):
        rows += [
            (number, number, side, ANSWER, NAME_TITLE, text) for side, text in zip((LEFT, RIGHT), pair, strict=True)
        ]
    used = set[str]()
    pairs = 0
    for item, (own_title, english_title) in enumerate(audited):
        left = [text for text in own.get(own_title, ()) if text not in used][:1]
        right = [text for text in dict.fromkeys(english.get(english_title, ())) if text not in used][:ITEM_SENTENCES]
        if left and right and pairs < AUDIT_PAIRS:
            answers = [(LEFT, ANSWER, left[0]), (RIGHT, ANSWER, right[0])]
            distractors = [(RIGHT, SAME_LINK, text) for text in right[1:]]
            rows += [(pairs, item, side, grade, LINKS, text) for side, grade, text in (*answers, *distractors)]
            used.update((*left, *right))
            pairs += 1
    audit = pd.DataFrame(rows, columns=["pair_id", "entity", "side", "grade", "kind", "text"])
    remaining = {title: [text for text in texts if text not in used] for title, texts in own.items()}
    return audit, Corpus(trained, remaining)


def same_sentence(corpus: Corpus, draw: random.Random) -> TextPairs:
    """Pair each sentence with itself: SimCSE."""
    return [(text, text) for text in corpus.sentences]


def same_entity(corpus: Corpus, draw: random.Random) -> TextPairs:
    """Pair two sentences that link to the same title."""
    several = [list(dict.fromkeys(texts)) for texts in corpus.linking.values()]
    return [(first, second) for first, second in (draw.sample(texts, 2) for texts in several if len(texts) > 1)]


def permuted(corpus: Corpus, draw: random.Random) -> TextPairs:
    """Pair sentences at random, which teaches nothing."""
    pairs = same_entity(corpus, draw)
    others = draw.sample(pairs, len(pairs))
    return [(first, second) for (first, _), (_, second) in zip(pairs, others, strict=True)]


def titles(corpus: Corpus, draw: random.Random) -> TextPairs:
    """Pair titles of the same item."""
    return corpus.titles


def noise(corpus: Corpus, draw: random.Random) -> TextPairs:
    """Pair each sentence with itself with other characters."""
    letters = sorted({letter for text in corpus.sentences[:1000] for letter in text})

    def noisy(text: str) -> str:
        return "".join(draw.choice(letters) if draw.random() < NOISE else letter for letter in text)

    return [(text, noisy(text)) for text in corpus.sentences]


class Run(NamedTuple):
    """A training run."""

    make_pairs: Callable[[Corpus, random.Random], TextPairs]
    temperature: float
    dropout: bool
    learning_rate: float


# Chosen before any result, with rates above the usual ones, so that checkpoints differ by more than Tatoeba's noise.
RUNS = {
    "SimCSE, τ 0.05": Run(same_sentence, 0.05, True, 1e-4),
    "same entity, τ 0.05": Run(same_entity, 0.05, True, 1e-4),
    "same entity, τ 0.01": Run(same_entity, 0.01, False, 3e-5),
    "permuted, τ 0.05": Run(permuted, 0.05, True, 1e-4),
    "titles, τ 0.05": Run(titles, 0.05, True, 1e-4),
    "titles, τ 0.01": Run(titles, 0.01, False, 3e-5),
    "noise, τ 0.01": Run(noise, 0.01, False, 3e-5),
}
STEPS = (4, 12, 36)
LETTERS = (3, 8, 16)
"""Numbers of letters that are permuted in what the encoder reads, the most frequent ones"""


def train_run(
    start: SentenceTransformer, run: Run, corpus: Corpus, steps: Sequence[int]
) -> Iterator[tuple[int, SentenceTransformer]]:
    """Train a copy of an encoder at a constant learning rate, and yield it after each number of steps.

    A loop of its own: `ease.train` returns one checkpoint, and also trains the word embeddings, whose gradient takes
    most of a step with a vocabulary of 250,000.
    """
    torch.manual_seed(0)
    draw = random.Random(0)
    encoder: Any = copy.deepcopy(start).train(run.dropout)
    encoder[0].model.get_input_embeddings().requires_grad_(False)
    optimizer = torch.optim.AdamW(
        [weight for weight in encoder.parameters() if weight.requires_grad], run.learning_rate, weight_decay=0
    )
    pairs = run.make_pairs(corpus, draw)
    for step in range(1, max(steps) + 1):
        batch = draw.sample(pairs, min(BATCH_SIZE, len(pairs)))
        with torch.autocast("cpu", torch.bfloat16, enabled=has_bf16()):
            anchors, positives = (
                encoder(encoder.preprocess(list(texts)))["sentence_embedding"] for texts in zip(*batch, strict=True)
            )
        loss = info_nce(anchors.float(), positives.float(), run.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in steps:
            yield step, encoder.eval()
            encoder.train(run.dropout)


def permute_letters(texts: Sequence[str], count: int) -> dict[str, str]:
    """Return a spelling, as `respell` reads it, that permutes the most frequent letters of texts."""
    counts = Counter(letter for text in texts for letter in text.lower() if letter.isalpha())
    letters = [letter for letter, _ in counts.most_common(count)]
    random.Random(0).shuffle(letters)
    return dict(zip(letters, letters[1:] + letters[:1], strict=True))
