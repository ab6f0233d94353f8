"""Search in the sentences of a project by one of its models or any other encoder: the library's interface."""

from __future__ import annotations

import hashlib
import json
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

from ease.encoders.encoder import load_for_evaluation
from ease.encoders.encoding import encode_with, fingerprint, place
from ease.encoders.options import LoadingOptions
from ease.encoders.saved import MODELS, note_user, saved_encoders, trained_methods
from ease.errors import EaseError
from ease.io.addresses import is_remote, located
from ease.io.files import read_globals
from ease.io.locks import is_locked
from ease.io.versions import provenance_of, saved_versions
from ease.methods import in_order
from ease.names import suggest
from ease.search.entities import Entities, Labels, Link, open_entities
from ease.search.index import Index, build_index
from ease.similarity.encode import Encode

MAX_CHARACTERS = 10_000
EXAMPLES, EXAMPLE_ROWS = 6, 5_000
"""Maximum number of examples, and the sentences of each language that they are chosen from."""
REASONS = 10
"""Entities nearest to a text that may be a reason for a result."""
WORD = 100
"""ICU's rule status of numbers; words have higher ones, spaces and punctuation lower ones."""
TRAIN = "kedro run --pipelines=train_multilingual"


class Reasons(NamedTuple):
    """What a text and a sentence share."""

    entities: list[Link]
    words: list[str]
    """In the order and spelling of the text"""


@dataclass(frozen=True)
class Found:
    """A sentence of the index that is near to a text."""

    text: str
    language: str
    pages: list[str]
    """Titles of the pages that have this sentence, among the nearest"""
    cosine: float
    entities: list[Link]
    """Those that the sentence links to"""
    why: Reasons
    """Linked entities that are among the nearest to the text, and words of the text in the sentence"""


class _Rows(NamedTuple):
    """The rows of a sentence: its cosine to the text, its pages in order, and the titles of its linked entities."""

    cosine: float
    pages: dict[str, None]
    titles: dict[int, str]


@dataclass(frozen=True)
class Search:
    """A model with its index of sentences and its entities. `ease.open_search` makes one."""

    encode: Encode
    index: Index
    entities: Entities | None
    """None if the model has no entity table, and the index is incomplete or without links"""
    labels: Labels

    def search(self, text: str, k: int = 10, languages: Sequence[str] = (), reader: str = "en") -> list[Found]:
        """Return the k sentences nearest to a text, the nearest first.

        Args:
            text: In any language.
            k: Number of sentences.
            languages: Languages of the sentences; none: all.
            reader: Language of the entities' labels.

        Raises:
            EaseError: If the text is blank or too long, k is below 1, or there is no sentence in a language.
        """
        embedding = self.embed(text)
        groups = self._distinct(embedding, k, languages)
        titles = {entity: title for group in groups.values() for entity, title in group.titles.items()}
        labels = self.labels.find(titles, reader)
        near = {link.entity for link in self._nearest_entities(embedding, REASONS, reader)}
        found = []
        for (language, sentence), group in groups.items():
            links = [Link(entity, labels[entity]) for entity in group.titles]
            why = Reasons([link for link in links if link.entity in near], shared_words(text, sentence))
            found.append(Found(sentence, language, list(group.pages), group.cosine, links, why))
        return found

    def _distinct(
        self, embedding: NDArray[np.float32], k: int, languages: Sequence[str]
    ) -> dict[tuple[str, str], _Rows]:
        """Return the rows of the k nearest different sentences, by language and sentence."""
        asked = 2 * k
        while True:  # until k sentences differ, since several rows may have one sentence
            near = self.index.nearest(embedding, asked, languages)
            groups: dict[tuple[str, str], _Rows] = {}
            for row, cosine in zip(self.index.sentences.rows(near.rows), near.cosines.tolist(), strict=True):
                group = groups.setdefault((row["language"], row["text"]), _Rows(cosine, {}, {}))
                group.pages[row["page_title"]] = None
                group.titles.update(zip(row["entities"] or (), row["titles"] or (), strict=True))
            if len(groups) >= k or len(near.rows) < asked:
                return dict(islice(groups.items(), k))
            asked *= 4

    def nearest_entities(self, text: str, k: int = 10, reader: str = "en") -> list[Link]:
        """Return the k entities nearest to a text, labelled in the language `reader`; none without `entities`.

        Raises EaseError if the text is blank or too long, or k is below 1.
        """
        return self._nearest_entities(self.embed(text), k, reader)

    def _nearest_entities(self, embedding: NDArray[np.float32], k: int, reader: str) -> list[Link]:
        near = self.entities.nearest(embedding, k) if self.entities is not None else []
        labels = self.labels.find({row["entity"]: row.get("title", "") for row, _ in near}, reader)
        return [Link(row["entity"], labels[row["entity"]], cosine) for row, cosine in near]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """Languages and sentences to try: facts that many languages state, each in another language.

        A fact is a pair of entities that a sentence links to. Only the first sentences of each language are read.
        """
        facts: dict[frozenset[int], dict[str, str]] = {}
        languages = self.index.languages
        for language, (start, end) in languages.items():
            rows = (start, min(end, start + EXAMPLE_ROWS))
            entities, texts = (self.index.sentences.column(name, *rows) for name in ("entities", "text"))
            for linked, text in zip(entities.to_pylist(), texts.to_pylist(), strict=True):
                if len(pair := frozenset(linked or ())) == 2:
                    facts.setdefault(pair, {}).setdefault(language, text)
        ranked = sorted(facts, key=lambda pair: (-len(facts[pair]), sorted(pair)))
        codes = sorted(languages, key=lambda code: (code != "en", code))
        found: list[tuple[str, str]] = []
        evenly = codes[:: max(1, len(codes) // EXAMPLES)]
        for code in evenly[:EXAMPLES]:
            if fact := next((pair for pair in ranked if code in facts[pair]), None):
                found.append((code, facts[fact][code]))
                ranked = [other for other in ranked if not other & fact]
        return found

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the embedding of a text, (dimension,); raises EaseError if the text is blank or too long."""
        if not re.search(r"\w", text):
            raise EaseError("The text has no letter or digit: type a sentence.")
        if len(text) > MAX_CHARACTERS:
            raise EaseError(f"The text has {len(text):,} characters: type a sentence, {MAX_CHARACTERS:,} at most.")
        return self.encode([text])[0]


def open_search(
    setting: str = "multilingual",
    model: str = "ease_plus",
    project: str | Path = ".",
    *,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Search:
    """Open the sentences of a project for a search by a model; build their index first if it is missing.

    The index is a folder below `07_model_output/search` in the data folder, one for each model and state of the
    sentences; older ones of the model are removed.

    Args:
        setting: Name of the setting, whose sentences are searched.
        model: Method that the project has trained, `untrained`, or the folder or hub name of any encoder.
        project: Folder of the project.
        report: Called with the sentences embedded so far and their number.

    Returns:
        The search, with a complete index.

    Raises:
        EaseError: If the project has no sentences or no such model.

    Example:
        >>> import ease
        >>> search = ease.open_search(model="ease_plus")
        >>> search.search("The yen is used in Japan.", k=3, languages=["ja"])
    """
    opening = Opening(Sources(project, setting), model)
    opening.build(report)
    return opening.search()


class Sources:
    """The tables and encoders of a project's setting.

    Raises EaseError if the folder has no configuration, its tables are on another machine, or there are no sentences.
    """

    def __init__(self, project: str | Path, setting: str) -> None:
        values = read_globals(Path(project))
        data = str(values.get("data", "data"))
        tables = located(str(values.get("tables", data)))
        if is_remote(tables):
            raise EaseError(f"The tables are at {tables}: copy them here, and set `tables` to that folder.")
        self.data, self.tables, self.setting = Path(project) / data, Path(project) / tables, setting
        self.sentences = self.table("02_intermediate", "sentences")
        self.links = self.table("02_intermediate", "links.parquet")
        if not self.sentences:
            raise EaseError(
                f"The setting {setting!r} has no sentences in {self.tables}: make them and a model by `{TRAIN}`."
            )

    def table(self, stage: str, name: str, version: str | None = None) -> list[Path]:
        """Return the Parquet files of a table's newest version, or of a version if it exists; empty without any."""
        folder = self.tables / stage / self.setting / name
        named = [folder / version / name] if version and (folder / version / name).exists() else []
        paths = named or saved_versions(folder)
        if not paths:
            return []
        return sorted(paths[-1].glob("*.parquet")) if paths[-1].is_dir() else [paths[-1]]

    def models(self) -> list[str]:
        """Return the names of the trained encoders and `untrained`, in the order of their training."""
        return in_order(m for setting, m in trained_methods(self.data / MODELS) if setting == self.setting)

    def model(self, name: str) -> tuple[str, str | None]:
        """Return the folder or hub name of an encoder, and the version of its vocabulary; None if not known.

        `name` is a method, whose newest encoder is chosen, a folder or a hub name. Raises EaseError if there is none.
        """
        if versions := saved_encoders(self.data / MODELS, self.setting, name):
            inputs = provenance_of(versions[-1].parent).get("inputs", {})
            return str(versions[-1]), inputs.get(f"{self.setting}.entity_vocabulary")
        if Path(name).is_dir() or name.count("/") == 1:
            return name, None
        known = self.models()
        if not known:
            raise EaseError(f"No model of the setting {self.setting!r} is trained: run `{TRAIN}`.")
        raise EaseError(f"No model {name!r} of the setting {self.setting!r}: {suggest(name, known)}")


class Opening:
    """The steps of `open_search`: the page searches an index while another thread builds it."""

    def __init__(self, sources: Sources, name: str) -> None:
        """Load the encoder; raises EaseError if there is none of the name."""
        self._sources = sources
        self._location, version = sources.model(name)
        self._vocabulary = sources.table("03_primary", "entity_vocabulary.parquet", version)
        encoder = place(load_for_evaluation(self._location, LoadingOptions()))
        encode, lock = encode_with(encoder), Lock()

        def one_at_a_time(texts: Sequence[str]) -> NDArray[np.float32]:
            with lock:  # tokenizers refuse to work in two threads at once
                return encode(texts)

        self._encode, self._fingerprint = one_at_a_time, fingerprint(encoder)
        safe = re.sub(r"[^\w.-]+", "_", name).strip("_.")
        # The folder changes with the encoder and the sentences. Footers have the rows, sizes and extreme values.
        footers = [pq.read_metadata(file).to_dict() for file in (*sources.sentences, *sources.links)]
        written = "".join(json.dumps(footer, sort_keys=True, default=str) for footer in footers)
        key = f"{self._fingerprint[:12]}-{hashlib.sha256(written.encode()).hexdigest()[:12]}"
        self.folder = sources.data / "07_model_output" / "search" / sources.setting / safe / key

    def build(self, report: Callable[[int, int], None]) -> None:
        """Build or complete the index, and remove older ones of the same model that no process builds."""
        note_user(self.folder, self._fingerprint, self._location)  # for `make prune`
        build_index(self.folder, self._encode, self._sources.sentences, self._sources.links, report)
        for other in self.folder.parent.iterdir():
            if other != self.folder and not is_locked(other):
                shutil.rmtree(other, ignore_errors=True)

    def search(self) -> Search:
        """Open the index as far as it is built, with the entities of the model."""
        index = Index(self.folder)
        labels = Labels(self._sources.table("02_intermediate", "sitelinks"), self._vocabulary)
        return Search(self._encode, index, open_entities(Path(self._location), self._vocabulary, index), labels)


def words_of(text: str) -> list[str]:
    """Split a text of any language into words and numbers, by ICU's rules and dictionaries."""
    boundaries = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
    units = icu.UnicodeString(text)  # ICU's offsets are UTF-16 units
    boundaries.setText(units)
    words, start = [], 0
    for end in boundaries:
        if boundaries.getRuleStatus() >= WORD:
            words.append(str(units[start:end]))
        start = end
    return words


def shared_words(first: str, second: str) -> list[str]:
    """Return the words of the first text that the second one has too, whatever their case; each once."""
    others = {word.casefold() for word in words_of(second)}
    shared: dict[str, str] = {}
    for word in words_of(first):
        if word.casefold() in others:
            shared.setdefault(word.casefold(), word)
    return list(shared.values())
