"""Search a project's sentences with one of its models or any other encoder: the library's interface."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import icu
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ease.arguments import checked
from ease.encoders.encoder import load_for_evaluation
from ease.encoders.encoding import encode_with, fingerprint, move_to_device
from ease.encoders.options import LoadingOptions
from ease.encoders.saved import MODELS, current_encoder, note_user, trained_methods
from ease.errors import EaseError
from ease.io.addresses import is_remote, located
from ease.io.files import read_globals
from ease.io.locks import is_locked
from ease.io.versions import provenance_of, saved_versions
from ease.methods import in_order
from ease.names import suggest
from ease.search.entities import EntityLabels, EntityLink, EntityVectors, open_entities
from ease.search.index import INDEX_SENTENCES, Index, build_index
from ease.similarity.encode import Encode

logger = logging.getLogger(__name__)

MAX_CHARACTERS = 10_000
MAX_EXAMPLES = 6
EXAMPLE_ROWS = 5_000
"""Sentences of each language that examples are chosen from"""
REASON_ENTITIES = 10
"""Entities nearest to a text that may be a reason for a result"""
WORD_STATUS = 100
"""ICU's rule status of numbers; that of words is higher, that of spaces and punctuation lower."""
TRAIN_COMMAND = "kedro run --pipelines=train_multilingual"


class Reasons(NamedTuple):
    """Entities and words that a text and a sentence share."""

    entities: list[EntityLink]
    words: list[str]
    """In the order and spelling of the text"""


@dataclass(frozen=True)
class SearchResult:
    """A sentence of the index that is near to a text."""

    text: str
    language: str
    pages: list[str]
    """Titles of the pages that have this sentence, among the nearest rows"""
    cosine: float
    entities: list[EntityLink]
    """The entities that the sentence links to"""
    why: Reasons
    """Linked entities that are among the nearest to the text, and words of the text in the sentence"""


class _SentenceRows(NamedTuple):
    """The rows of a sentence: its cosine to the text, its pages in order, and the titles of its linked entities."""

    cosine: float
    pages: dict[str, None]
    titles: dict[int, str]


@dataclass(frozen=True)
class Search:
    """A model with its index of sentences and its entities, as `ease.open_search` returns it."""

    encode: Encode
    index: Index
    entities: EntityVectors | None
    """None if the model has no entity table, and the index is incomplete or without links"""
    labels: EntityLabels

    @checked
    def search(self, text: str, k: int = 10, languages: Sequence[str] = (), reader: str = "en") -> list[SearchResult]:
        """Return the k sentences nearest to a text, the nearest first.

        Args:
            text: A text in any language.
            k: Number of sentences.
            languages: Languages of the sentences; empty: all.
            reader: Language of the entities' labels.

        Raises:
            EaseError: If the text is blank or too long, k is below 1, or there is no sentence in a language.
        """
        embedding = self.embed(text)
        groups = self._distinct(embedding, k, languages)
        titles = {entity: title for group in groups.values() for entity, title in group.titles.items()}
        labels = self.labels.find(titles, reader)
        near_entities = {link.entity for link in self._nearest_entities(embedding, REASON_ENTITIES, reader)}
        results = []
        for (language, sentence), group in groups.items():
            links = [EntityLink(item, labels[item].text, translated=labels[item].translated) for item in group.titles]
            why = Reasons([link for link in links if link.entity in near_entities], shared_words(text, sentence))
            results.append(SearchResult(sentence, language, list(group.pages), group.cosine, links, why))
        return results

    def _distinct(
        self, embedding: NDArray[np.float32], k: int, languages: Sequence[str]
    ) -> dict[tuple[str, str], _SentenceRows]:
        """Return the rows of the k nearest different sentences, by language and sentence."""
        # Several rows may have one sentence: search for more until k sentences differ.
        count = 2 * k
        while True:
            neighbours = self.index.nearest(embedding, count, languages)
            groups: dict[tuple[str, str], _SentenceRows] = {}
            for row, cosine in zip(
                self.index.sentences.rows(neighbours.rows), neighbours.cosines.tolist(), strict=True
            ):
                group = groups.setdefault((row["language"], row["text"]), _SentenceRows(cosine, {}, {}))
                group.pages[row["page_title"]] = None
                group.titles.update(zip(row["entities"] or (), row["titles"] or (), strict=True))
            if len(groups) >= k or len(neighbours.rows) < count:
                return dict(islice(groups.items(), k))
            count *= 4

    @checked
    def nearest_entities(self, text: str, k: int = 10, reader: str = "en") -> list[EntityLink]:
        """Return the k entities nearest to a text, labelled in the language `reader`; empty without `entities`.

        Raises EaseError if the text is blank or too long, or k is below 1.
        """
        return self._nearest_entities(self.embed(text), k, reader)

    def _nearest_entities(self, embedding: NDArray[np.float32], k: int, reader: str) -> list[EntityLink]:
        if self.entities is None:
            return []
        rows = self.entities.nearest(embedding, k)
        labels = self.labels.find({row["entity"]: row.get("title", "") for row, _ in rows}, reader)
        links = []
        for row, cosine in rows:
            label = labels[row["entity"]]
            links.append(EntityLink(row["entity"], label.text, cosine, label.translated))
        return links

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """Languages and sentences to try: facts that many languages state, each in another language.

        A fact is a pair of entities that a sentence links to. Only the first sentences of each language are read.
        """
        facts = self._facts()
        by_languages = sorted(facts, key=lambda pair: (-len(facts[pair]), sorted(pair)))
        codes = sorted(self.index.languages, key=lambda code: (code != "en", code))
        # Evenly spread over the languages, if there are more than examples.
        spread = codes[:: max(1, len(codes) // MAX_EXAMPLES)]
        examples: list[tuple[str, str]] = []
        for code in spread[:MAX_EXAMPLES]:
            fact = next((pair for pair in by_languages if code in facts[pair]), None)
            if fact:
                examples.append((code, facts[fact][code]))
                # No entity twice, so that the examples differ.
                by_languages = [pair for pair in by_languages if not pair & fact]
        return examples

    def _facts(self) -> dict[frozenset[int], dict[str, str]]:
        """Return the first sentence of each language about each pair of entities."""
        facts: dict[frozenset[int], dict[str, str]] = {}
        for language, (start, end) in self.index.languages.items():
            stop = min(end, start + EXAMPLE_ROWS)
            entities = self.index.sentences.column("entities", start, stop)
            texts = self.index.sentences.column("text", start, stop)
            for linked, text in zip(entities.to_pylist(), texts.to_pylist(), strict=True):
                pair = frozenset(linked or ())
                if len(pair) == 2:
                    facts.setdefault(pair, {}).setdefault(language, text)
        return facts

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the embedding of a text, (dimension,); raises EaseError if the text is blank or too long."""
        if not re.search(r"\w", text):
            raise EaseError("The text has no letter or digit: type a sentence.")
        if len(text) > MAX_CHARACTERS:
            raise EaseError(f"The text has {len(text):,} characters: type a sentence, {MAX_CHARACTERS:,} at most.")
        return self.encode([text])[0]


@checked
def open_search(
    setting: str = "multilingual",
    model: str = "ease_plus",
    project: str | Path = ".",
    *,
    report: Callable[[int, int], None] = lambda embedded, total: None,
) -> Search:
    """Open a project's sentences for search with a model; build their index first if it is missing.

    The index is a folder below `07_model_output/search` in the data folder, one for each model and state of the
    sentences; the model's older indexes are removed.

    Args:
        setting: Name of the setting whose sentences are searched.
        model: Method that the project has trained, `untrained`, or the folder or hub name of any encoder.
        project: Folder of the project.
        report: Called with the number of sentences embedded so far, and the number of all sentences.

    Returns:
        The search, with a complete index; while another process builds the index, with the part built so far.

    Raises:
        EaseError: If the project has no sentences or no such model.

    Example:
        >>> import ease
        >>> search = ease.open_search(model="ease_plus")
        >>> search.search("The yen is used in Japan.", k=3, languages=["ja"])
    """
    opening = SearchOpening(SearchProject(project, setting), model)
    try:
        opening.build(report)
    except EaseError:
        # Another process, such as the search page, builds the index: its part is searched, and grows meanwhile.
        if not is_locked(opening.folder) or not (opening.folder / INDEX_SENTENCES).exists():
            raise
        search = opening.search()
        if not search.index.embedded():
            raise
        logger.warning("%s is being built by another process: only its sentences so far are searched", opening.folder)
        return search
    return opening.search()


class SearchProject:
    """The tables and encoders of a project's setting.

    Raises EaseError if the folder has no configuration, its tables are on another machine, or there are no sentences.
    """

    def __init__(self, project: str | Path, setting: str) -> None:
        values = read_globals(Path(project))
        data = str(values.get("data", "data"))
        tables = located(str(values.get("tables", data)))
        if is_remote(tables):
            raise EaseError(f"The tables are at {tables}: copy them here, and set `tables` to that folder.")
        self.data = Path(project) / data
        self.tables = Path(project) / tables
        self.setting = setting
        self.sentences = self.table("02_intermediate", "sentences")
        self.links = self.table("02_intermediate", "links.parquet")
        if not self.sentences:
            raise EaseError(
                f"The setting {setting!r} has no sentences in {self.tables}: make them and a model by "
                f"`{TRAIN_COMMAND}`."
            )

    def table(self, stage: str, name: str, version: str | None = None) -> list[Path]:
        """Return the Parquet files of a table's newest version, or of a version if it exists; empty without any."""
        folder = self.tables / stage / self.setting / name
        paths = saved_versions(folder)
        if version and (folder / version / name).exists():
            paths = [folder / version / name]
        if not paths:
            return []
        if paths[-1].is_dir():
            return sorted(paths[-1].glob("*.parquet"))
        return [paths[-1]]

    def models(self) -> list[str]:
        """Return the names of the trained encoders and `untrained`, in the order of their training."""
        return in_order(m for setting, m in trained_methods(self.data / MODELS) if setting == self.setting)

    def model(self, name: str) -> tuple[str, str | None]:
        """Return the folder or hub name of an encoder, and the version of its vocabulary; None if not known.

        `name` is a method, whose encoder `latest` is chosen, a folder or a hub name. Raises EaseError if there is none.
        """
        encoder = current_encoder(self.data / MODELS, self.setting, name)
        if encoder:
            inputs = provenance_of(encoder.parent).get("inputs", {})
            return str(encoder), inputs.get(f"{self.setting}.entity_vocabulary")
        if Path(name).is_dir() or name.count("/") == 1:
            return name, None
        models = self.models()
        if not models:
            raise EaseError(f"No model of the setting {self.setting!r} is trained: run `{TRAIN_COMMAND}`.")
        raise EaseError(f"No model {name!r} of the setting {self.setting!r}: {suggest(name, models)}")


class SearchOpening:
    """The steps of `open_search`: the page searches an index while another thread builds it."""

    def __init__(self, project: SearchProject, name: str) -> None:
        """Load the encoder; raises EaseError if there is none of the name."""
        self._project = project
        self._location, version = project.model(name)
        # The vocabulary that the encoder was trained with: a newer one may number other entities.
        self._vocabulary = project.table("03_primary", "entity_vocabulary.parquet", version)
        encoder = move_to_device(load_for_evaluation(self._location, LoadingOptions()))
        encode = encode_with(encoder)
        lock = Lock()

        def encode_one_at_a_time(texts: Sequence[str]) -> NDArray[np.float32]:
            # Tokenizers refuse to work in two threads at once.
            with lock:
                return encode(texts)

        self._encode = encode_one_at_a_time
        self._fingerprint = fingerprint(encoder)
        safe = re.sub(r"[^\w.-]+", "_", name).strip("_.")
        # The folder changes with the encoder and the sentences. Footers have the rows, sizes and extreme values, so
        # that the tables need not be read.
        footers = [pq.read_metadata(file).to_dict() for file in (*project.sentences, *project.links)]
        content = "".join(json.dumps(footer, sort_keys=True, default=str) for footer in footers)
        key = f"{self._fingerprint[:12]}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        self.folder = project.data / "07_model_output" / "search" / project.setting / safe / key

    def build(self, report: Callable[[int, int], None]) -> None:
        """Build or complete the index, and remove the model's older indexes that no process builds."""
        # For `make prune`, which removes indexes of encoders that are gone.
        note_user(self.folder, self._fingerprint, self._location)
        build_index(self.folder, self._encode, self._project.sentences, self._project.links, report)
        for other in self.folder.parent.iterdir():
            if other != self.folder and not is_locked(other):
                shutil.rmtree(other, ignore_errors=True)

    def search(self) -> Search:
        """Return the search in the index as far as it is built, with the model's entities."""
        index = Index(self.folder)
        labels = EntityLabels(self._project.table("02_intermediate", "sitelinks"), self._vocabulary)
        entities = open_entities(Path(self._location), self._vocabulary, index)
        return Search(self._encode, index, entities, labels)


def words_of(text: str) -> list[str]:
    """Split a text of any language into words and numbers, by ICU's rules and dictionaries."""
    boundaries = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
    # ICU's offsets are UTF-16 units.
    units = icu.UnicodeString(text)
    boundaries.setText(units)
    words = []
    start = 0
    for end in boundaries:
        if boundaries.getRuleStatus() >= WORD_STATUS:
            words.append(str(units[start:end]))
        start = end
    return words


def shared_words(first: str, second: str) -> list[str]:
    """Return the first text's words that are also in the second text, in any case; each word once."""
    second_words = {word.casefold() for word in words_of(second)}
    shared: dict[str, str] = {}
    for word in words_of(first):
        if word.casefold() in second_words:
            shared.setdefault(word.casefold(), word)
    return list(shared.values())
