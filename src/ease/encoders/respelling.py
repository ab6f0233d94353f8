"""Letters of a language that an encoder does not know, read as letters that it knows.

Languages beside one that an encoder was trained on often differ from it first in spelling: Kashubian `stôri` is
Polish `stary`, with a letter of which the vocabulary has hardly a piece. Which known letter each of them stands for is
learnt from names of one item in two languages, and the pieces that result become part of the vocabulary, without any
training.
"""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ease.encoders.learnt_letters import LetterGain, Respelling
from ease.encoders.merges import is_bpe, read_merges, with_parts
from ease.encoders.options import RespellingOptions
from ease.encoders.vocabulary import TOKENIZER_FILE, explain_fixed, piece_numbers, read_tokenizer, script_of
from ease.similarity.encode import Encode
from ease.similarity.vectors import normalize_rows

logger = logging.getLogger(__name__)

Spelling = Mapping[str, str]
"""Lower-case letters, and what to read in place of each: a letter, or nothing"""

LETTER_NAMES = 512
"""Names with a letter on which its replacements are compared"""
MIN_NAMES = 16
"""A letter that fewer names have stays as it is."""
SCREENING = ((MIN_NAMES, 24), (64, 6))
"""Names on which replacements are screened, and how many remain: most are worse on a few names already"""
PIECE_MARKS = ("▁", "##")
"""What tokenizers write before a piece at the beginning of a word (SentencePiece), or within one (WordPiece)"""


def respell(text: str, spelling: Spelling) -> str:
    """Return a text with other letters; a capital is replaced by a capital."""
    return "".join(_respell_letter(letter, spelling) for letter in unicodedata.normalize("NFC", text))


def _respell_letter(letter: str, spelling: Spelling) -> str:
    if letter in spelling:
        return spelling[letter]
    small = letter.lower()
    if small in spelling:
        return spelling[small].upper()
    return letter


class NamePairs:
    """Names, or sentences, in the language with their translations, and the loss of finding one by the other.

    The loss of a pair is InfoNCE in both directions among all pairs, at a temperature that is the standard deviation of
    the cosines of names that do not belong together: encoders differ tenfold in how far they spread unrelated texts.
    """

    def __init__(self, encode: Encode, pairs: Sequence[tuple[str, str]]) -> None:
        """Encode the pairs of a name and its translation; a name's translations are distinct."""
        self._encode = encode
        self.names = [name for name, _ in pairs]
        translations = list(dict.fromkeys(translation for _, translation in pairs))
        numbers = {translation: number for number, translation in enumerate(translations)}
        self._columns = np.array([numbers[translation] for _, translation in pairs])
        self._translations = normalize_rows(np.asarray(encode(translations), np.float32))
        self._embeddings = dict[str, NDArray[np.float32]]()
        self._original = self._embed(self.names)
        cosines = self._original @ self._translations.T
        unrelated = np.ones_like(cosines, bool)
        unrelated[np.arange(len(pairs)), self._columns] = False
        self._temperature = float(cosines[unrelated].std())

    def rows_with(self, letter: str) -> list[int]:
        """Return the first names that have a letter, in either case."""
        return list(islice((row for row, name in enumerate(self.names) if letter in name.lower()), LETTER_NAMES))

    def prepare(self, spellings: Iterable[Spelling], rows: Sequence[int]) -> None:
        """Encode names as several spellings have them, which is faster at once than one spelling after the other."""
        self._embed([respell(self.names[row], spelling) for spelling in spellings for row in rows])

    def losses(self, spelling: Spelling, rows: Sequence[int] | None = None) -> NDArray[np.float32]:
        """Return the loss of each pair with the names respelt; of some rows alone if they are given, in nats."""
        if rows is None:
            rows = range(len(self.names))
        selected = np.fromiter(rows, np.int64)
        embeddings = self._original.copy()
        embeddings[selected] = self._embed([respell(self.names[row], spelling) for row in selected])
        logits = embeddings @ self._translations.T / self._temperature
        of_translation = logits[selected, self._columns[selected]]
        by_name = np.logaddexp.reduce(logits[selected], axis=1)
        by_translation = np.logaddexp.reduce(logits, axis=0)[self._columns[selected]]
        losses: NDArray[np.float32] = (by_name + by_translation) / 2 - of_translation
        return losses

    def accuracy(self) -> float:
        """Return the share of names that are nearer to their translation than to any other, 0 to 1."""
        return float(((self._original @ self._translations.T).argmax(axis=1) == self._columns).mean())

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._embeddings]
        if missing:
            vectors = normalize_rows(np.asarray(self._encode(missing), np.float32))
            self._embeddings.update(zip(missing, vectors, strict=True))
        return np.stack([self._embeddings[text] for text in texts])


def learn_spelling(
    pairs: NamePairs, letters: Sequence[str], replacements: Sequence[str], min_gain: float
) -> tuple[dict[str, str], list[LetterGain]]:
    """Find what to read for each letter: what brings the names nearest to their translations.

    One letter after the other takes the replacement with the lowest loss, given those of the letters before it; a
    second pass revises the choices of the first.

    Args:
        pairs: Names and their translations.
        letters: Lower-case letters to replace, the least known first.
        replacements: Letters that may replace them; "" removes a letter.
        min_gain: Minimum gain in standard errors.

    Returns:
        The spelling; its replacements with their gains over leaving the letter.
    """
    spelling: dict[str, str] = {}
    shortlists: dict[str, list[str]] = {}
    for _ in range(2):
        before = dict(spelling)
        for letter in letters:
            rows = pairs.rows_with(letter)
            if len(rows) < MIN_NAMES:
                continue
            if letter in shortlists:
                # The second pass screens what the first one has left.
                candidates = shortlists[letter]
            else:
                candidates = [other for other in replacements if other != letter]
            shortlists[letter] = _screen(pairs, rows, letter, candidates, spelling)
            best = _best_replacement(pairs, rows, letter, shortlists[letter], spelling, min_gain)
            if best is None:
                logger.info("%s stays", letter)
                spelling.pop(letter, None)
            else:
                logger.info("%s → %s (%.1f standard errors)", letter, best.replacement, best.standard_errors)
                spelling[letter] = best.replacement
        if spelling == before:
            break
    gains = []
    for letter in spelling:
        gains.append(_gain(pairs, pairs.rows_with(letter), letter, spelling[letter], spelling))
    return spelling, gains


def _screen(
    pairs: NamePairs, rows: Sequence[int], letter: str, candidates: Sequence[str], spelling: Spelling
) -> list[str]:
    """Return the candidates with the lowest losses on a few of the names."""
    for names, remaining in SCREENING:
        losses = {}
        pairs.prepare(({**spelling, letter: replacement} for replacement in candidates), rows[:names])
        for replacement in candidates:
            losses[replacement] = pairs.losses({**spelling, letter: replacement}, rows[:names]).mean()
        candidates = sorted(losses, key=losses.__getitem__)[:remaining]
    return list(candidates)


def _best_replacement(
    pairs: NamePairs,
    rows: Sequence[int],
    letter: str,
    candidates: Sequence[str],
    spelling: Spelling,
    min_gain: float,
) -> LetterGain | None:
    """Return the candidate with the largest gain, if it is clearly better than the letter itself."""
    gains = [_gain(pairs, rows, letter, replacement, spelling) for replacement in candidates]
    best = max(gains, key=lambda gain: gain.gain)
    if best.standard_errors < min_gain:
        return None
    return best


def _gain(pairs: NamePairs, rows: Sequence[int], letter: str, replacement: str, spelling: Spelling) -> LetterGain:
    """Compare a replacement with leaving the letter, on the names that have it."""
    without = {other: spelling[other] for other in spelling if other != letter}
    decrease = pairs.losses(without, rows) - pairs.losses({**without, letter: replacement}, rows)
    error = decrease.std() / max(len(rows), 1) ** 0.5
    return LetterGain(
        letter=letter,
        replacement=replacement,
        pairs=len(rows),
        gain=float(decrease.mean()),
        standard_errors=float(decrease.mean() / max(error, 1e-9)),
    )


def unknown_letters(texts: Iterable[str], encoder_folder: Path, options: RespellingOptions) -> list[str]:
    """Return the letters that texts have much more often than an encoder's vocabulary, the least known first."""
    normalizer = Tokenizer.from_file(str(encoder_folder / TOKENIZER_FILE)).normalizer
    counts = Counter[str]()
    for text in texts:
        # What the tokenizer reads: some remove accents.
        read = text if normalizer is None else normalizer.normalize_str(text)
        counts.update(letter for letter in unicodedata.normalize("NFC", read).lower() if letter.isalpha())
    vocabulary = _vocabulary_letters(encoder_folder)
    total = max(counts.total(), 1)
    # Within a script: to an encoder of 100 languages, every Armenian letter is rare.
    script_totals = _count_scripts(counts)
    vocabulary_totals = _count_scripts(vocabulary)
    ratios = {}
    for letter, count in counts.items():
        if count / total >= options.min_share:
            script = script_of(letter)
            # One piece more, so that a letter without any has a ratio.
            vocabulary_share = (vocabulary[letter] + 1) / (vocabulary_totals[script] + 1)
            ratios[letter] = count / script_totals[script] / vocabulary_share
    unknown = [letter for letter, ratio in ratios.items() if ratio >= options.min_ratio]
    return sorted(unknown, key=lambda letter: (-ratios[letter], letter))


def _count_scripts(letters: Counter[str]) -> Counter[str]:
    """Return the sum of the letters' counts for each script."""
    totals = Counter[str]()
    for letter, count in letters.items():
        totals[script_of(letter)] += count
    return totals


def known_letters(letters: Sequence[str], encoder_folder: Path, limit: int) -> list[str]:
    """Return the most frequent letters of an encoder's vocabulary in the scripts of the given letters."""
    scripts = set(map(script_of, letters))
    counts = _vocabulary_letters(encoder_folder)
    # The capital of some letters is two.
    candidates = [letter for letter in counts if script_of(letter) in scripts and len(letter.upper()) == 1]
    return sorted(candidates, key=lambda letter: (-counts[letter], letter))[:limit]


def _vocabulary_letters(encoder_folder: Path) -> Counter[str]:
    """Count the pieces of a vocabulary that have a letter, in lower case."""
    counts = Counter[str]()
    for piece in piece_numbers(read_tokenizer(encoder_folder)):
        counts.update(letter for letter in set(piece.lower()) if letter.isalpha())
    return counts


def new_pieces(encoder_folder: Path, words: Iterable[str], spelling: Spelling) -> dict[str, str]:
    """Return the pieces that respelt words need: each with the piece of the vocabulary that it stands for.

    With them, the tokenizer splits Kashubian `stôri` where it splits Polish `stary`, and the model reads the same
    embeddings. Pieces that the vocabulary has already are left as they are, since other languages use them.

    Args:
        encoder_folder: A saved encoder.
        words: Words of the language.
        spelling: As `learn_spelling` returns it.
    """
    description = read_tokenizer(encoder_folder)
    numbers = piece_numbers(description)
    tokenizer = Tokenizer.from_file(str(encoder_folder / TOKENIZER_FILE))
    # Some tokenizers mark only words that follow a space.
    texts = [form for word in dict.fromkeys(words) for form in (word, f" {word}")]
    pieces = {piece: known for text in texts for piece, known in _word_pieces(tokenizer, text, spelling)}
    # An unknown token and bytes stand for no letters.
    pieces = {piece: known for piece, known in pieces.items() if respell(piece, spelling) == known}
    if is_bpe(description):
        pieces = with_parts(read_merges(description["model"]), pieces)
    return {piece: known for piece, known in pieces.items() if piece not in numbers}


def _word_pieces(tokenizer: Tokenizer, word: str, spelling: Spelling) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a word by its own letters, each with the piece of the respelt word at its place."""
    letters = unicodedata.normalize("NFC", word)
    replacements = [_respell_letter(letter, spelling) for letter in letters]
    if replacements == list(letters):
        return
    encoding = tokenizer.encode("".join(replacements), add_special_tokens=False)
    # The letter of the word from which each character of the respelt word comes
    origins = [place for place, replacement in enumerate(replacements) for _ in replacement]
    for known_piece, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
        if known_piece in PIECE_MARKS:
            continue  # it stands for no letter
        first = origins[start]
        # Letters that are removed belong to the piece before them.
        last = origins[end] if end < len(origins) else len(letters)
        piece = letters[first:last].strip()
        if tokenizer.normalizer is not None:
            piece = tokenizer.normalizer.normalize_str(piece)
        for mark in PIECE_MARKS:
            if known_piece.startswith(mark):
                piece = mark + piece
        if piece != known_piece:
            yield piece, known_piece


def learn_respelling(
    encoder_folder: Path,
    encode: Encode,
    texts: Sequence[str],
    names: Sequence[tuple[str, str]],
    held_out: Sequence[Sequence[tuple[str, str]]],
    options: RespellingOptions,
) -> Respelling:
    """Learn which letters of a language an encoder should read as others, and judge it on texts that it has not seen.

    Args:
        encoder_folder: A saved encoder.
        encode: The function of its embeddings.
        texts: Sentences of the language, from which words and letter frequencies are taken.
        names: Names in the language with their translations, to learn from.
        held_out: Sets of further pairs, each searched among its own.
        options: Limits of the search.

    Returns:
        The letters and pieces, or why there are none.
    """
    if not (encoder_folder / TOKENIZER_FILE).is_file():
        # Such as word vectors, which may be kept as they are.
        return Respelling(reason="it has no tokenizer with pieces")
    description = read_tokenizer(encoder_folder)
    fault = explain_fixed(description)
    if fault:
        return Respelling(reason=fault)
    letters = unknown_letters(texts, encoder_folder, options)
    if not letters:
        return Respelling(reason="its letters are as frequent in the encoder's vocabulary as in its text")
    if len(names) < options.min_pairs:
        return Respelling(
            reason=f"only {len(names)} names have a translation, fewer than `respelling.min_pairs` {options.min_pairs}"
        )
    judging = [rows for rows in held_out if len(rows) > 1]
    if not judging:
        return Respelling(reason="no names or first sentences are left to judge the letters")
    logger.info("Letters that the vocabulary hardly has: %s", " ".join(letters))
    replacements = known_letters(letters, encoder_folder, options.replacements)
    if not is_bpe(description):
        # Merges replace letters one for one.
        replacements = ["", *replacements]
    pairs = NamePairs(encode, names[: options.max_pairs])
    spelling, gains = learn_spelling(pairs, letters, replacements, options.min_gain)
    judges = [NamePairs(encode, rows) for rows in judging]
    before = np.concatenate([judge.losses({}) for judge in judges])
    after = np.concatenate([judge.losses(spelling) for judge in judges])
    decrease = before - after
    error = decrease.std() / len(decrease) ** 0.5
    standard_errors = float(decrease.mean() / max(error, 1e-9))
    respelling = Respelling(
        letters=tuple(gains),
        names=len(pairs.names),
        held_out=len(decrease),
        loss_before=float(before.mean()),
        loss_after=float(after.mean()),
        standard_errors=standard_errors,
    )
    if not spelling:
        return respelling.model_copy(update={"reason": "no other letter brings its names nearer to their translations"})
    if standard_errors < options.min_gain:
        return respelling.model_copy(update={"reason": "what helps on the names does not help on the held-out texts"})
    return respelling.model_copy(update={"pieces": new_pieces(encoder_folder, _split_words(texts), spelling)})


def _split_words(texts: Iterable[str]) -> Iterator[str]:
    """Yield the words of texts with their punctuation, split at spaces."""
    for text in texts:
        yield from text.split()
