"""Search in the sentences of a project by one of its models or any other encoder: the library's interface."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ease.encoders.encoding import encode_with, fingerprint
from ease.encoders.loading import load_for_evaluation
from ease.encoders.options import LoadingOptions
from ease.encoders.placing import place
from ease.errors import EaseError
from ease.io.cache_users import note_user
from ease.io.locks import is_locked
from ease.search.building import Encode, build_index
from ease.search.entities import Entities, Labels, Link, open_entities
from ease.search.index import Index
from ease.search.limits import EXACT_LIMIT, MEMORY
from ease.search.reasons import Reasons, shared_links, shared_words
from ease.search.sources import Model, Sources, digest_tables

MAX_CHARACTERS = 10_000
REASONS = 10
"""Entities nearest to a text that may be a reason for a result."""


@dataclass(frozen=True)
class NearEntity:
    """An entity that is near to a text."""

    entity: int
    label: str
    cosine: float


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


class Search:
    """A model with its index of sentences and its entities. `ease.open_search` makes one."""

    def __init__(
        self,
        model: Model,
        encode: Encode,
        index: Index,
        entities: Entities | None,
        labels: Labels,
    ) -> None:
        """Combine the parts."""
        self.model = model
        self.index = index
        self.entities = entities
        """None without an entity table if the index is not complete or no sentence links to an entity"""
        self._encode, self._labels = encode, labels

    def search(
        self, text: str, k: int = 10, languages: Sequence[str] | None = None, reader: str = "en"
    ) -> list[Found]:
        """Return the k sentences nearest to a text, the nearest first.

        Args:
            text: In any language.
            k: Number of sentences.
            languages: Languages of the sentences; None: all.
            reader: Language of the entities' labels.

        Raises:
            EaseError: If the text is blank or too long, k is below 1, or there is no sentence in a language.
        """
        embedding = self.embed(text)
        rows = self._distinct(embedding, k, languages)
        titles = {entity: title for same, _ in rows for row in same for entity, title in _links(row).items()}
        labels = self._labels.find(titles, reader, titles)
        near = [Link(one.entity, one.label) for one in self._nearest_entities(embedding, REASONS, reader)]
        found = []
        for same, cosine in rows:
            links = [
                Link(entity, labels[entity])
                for entity in dict.fromkeys(e for row in same for e in _links(row))
            ]
            why = Reasons(shared_links(links, near), shared_words(text, same[0]["text"]))
            pages = list(dict.fromkeys(row["page_title"] for row in same))
            found.append(Found(same[0]["text"], same[0]["language"], pages, cosine, links, why))
        return found

    def _distinct(
        self, embedding: NDArray[np.float32], k: int, languages: Sequence[str] | None
    ) -> list[tuple[list[dict[str, Any]], float]]:
        """Return the rows of the k nearest different sentences, and their cosines; several pages may have the same."""
        asked = 2 * k
        while True:
            near = self.index.nearest(embedding, asked, languages)
            groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
            cosines: dict[tuple[str, str], float] = {}
            for row, cosine in zip(self.index.sentences.rows(near.rows), near.cosines.tolist(), strict=True):
                key = row["language"], row["text"]
                groups.setdefault(key, []).append(row)
                cosines.setdefault(key, cosine)
            if len(groups) >= k or len(near.rows) < asked:
                return [(groups[key], cosines[key]) for key in list(groups)[:k]]
            asked *= 4

    def nearest_entities(self, text: str, k: int = 10, reader: str = "en") -> list[NearEntity]:
        """Return the k entities nearest to a text, the nearest first; none without `entities`.

        Args:
            text: In any language.
            k: Number of entities.
            reader: Language of the labels.

        Raises:
            EaseError: If the text is blank or too long, or k is below 1.
        """
        return self._nearest_entities(self.embed(text), k, reader)

    def why(self, first: str, second: str, k: int = 5, reader: str = "en") -> tuple[float, Reasons]:
        """Return the cosine of two texts, and what they share: entities among the k nearest to each, and words.

        Raises:
            EaseError: If a text is blank or too long, or k is below 1.
        """
        embeddings = [self.embed(text) for text in (first, second)]
        left, right = (
            [Link(one.entity, one.label) for one in self._nearest_entities(embedding, k, reader)]
            for embedding in embeddings
        )
        lengths = np.linalg.norm(embeddings[0]) * np.linalg.norm(embeddings[1])
        cosine = float(embeddings[0] @ embeddings[1] / lengths)
        return cosine, Reasons(shared_links(left, right), shared_words(first, second))

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the embedding of a text, (dimension,).

        Raises:
            EaseError: If the text is blank or too long.
        """
        if not re.search(r"\w", text):
            raise EaseError("The text has no letter or digit: type a sentence.")
        if len(text) > MAX_CHARACTERS:
            raise EaseError(
                f"The text has {len(text):,} characters: type a sentence, {MAX_CHARACTERS:,} at most."
            )
        embedding: NDArray[np.float32] = self._encode([text])[0]
        return embedding

    def _nearest_entities(self, embedding: NDArray[np.float32], k: int, reader: str) -> list[NearEntity]:
        if self.entities is None:
            return []
        near = self.entities.nearest(embedding, k)
        titles = {row["entity"]: row.get("title", "") for row, _ in near}
        labels = self._labels.find(titles, reader, titles)
        return [NearEntity(row["entity"], labels[row["entity"]], cosine) for row, cosine in near]


def _one_at_a_time(encode: Encode) -> Encode:
    """Return the function, for threads: tokenizers refuse to work in two at once."""
    lock = Lock()

    def locked(texts: Sequence[str]) -> NDArray[np.float32]:
        with lock:
            return encode(texts)

    return locked


def _links(row: dict[str, Any]) -> dict[int, str]:
    """Return the entities that a sentence links to, and the titles in its language."""
    return dict(zip(row["entities"] or (), row["titles"] or (), strict=True))


def open_search(
    setting: str = "multilingual",
    model: str = "ease_plus",
    project: str | Path = ".",
    *,
    index: str | Path | None = None,
    memory: int = MEMORY,
    exact_limit: int = EXACT_LIMIT,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Search:
    """Open the sentences of a project for a search by a model; build their index first if it is missing.

    Args:
        setting: Name of the setting, whose sentences are searched.
        model: Method that the project has trained, `untrained`, or the folder or hub name of any encoder.
        project: Folder of the project.
        index: Folder of the index. Default: `07_model_output/search` in the data folder, one for each model and state
            of the sentences; older ones of the model are removed.
        memory: Memory limit in megabytes of sorting and of the compressed index; the encoder comes on top.
        exact_limit: Sentences up to which a search compares all of them; beyond, faiss finds candidates.
        report: Called with the sentences embedded so far and their number.

    Returns:
        The search, with a complete index.

    Raises:
        EaseError: If the project has no sentences or no such model, or a given index is of another model or of other
            sentences.

    Example:
        >>> import ease
        >>> search = ease.open_search(model="ease_plus")
        >>> search.search("The yen is used in Japan.", k=3, languages=["ja"])
    """
    opening = Opening(Sources.of_project(project, setting), model, index)
    opening.build(memory, exact_limit, report)
    return opening.search(memory)


class Opening:
    """The steps of `open_search`: the page searches an index while another thread builds it."""

    def __init__(self, sources: Sources, name: str, index: str | Path | None = None) -> None:
        """Load the encoder.

        Raises:
            EaseError: If there are no sentences or no such encoder.
        """
        self._sources = sources
        files = sources.sentences()
        links = sources.table("02_intermediate", "links.parquet")
        self.model = sources.model(name)
        encoder = place(load_for_evaluation(self.model.location, LoadingOptions()))
        self._encode = _one_at_a_time(encode_with(encoder))
        self._fingerprint = fingerprint(encoder)
        self._tables = files, links, digest_tables([*files, *links])
        self._given = index is not None
        self.folder = Path(index) if index is not None else self._own_folder()

    def build(self, memory: int, exact_limit: int, report: Callable[[int, int], None]) -> None:
        """Build or complete the index, and remove older ones of the same model that no process builds."""
        if not self._given:
            note_user(self.folder, self._fingerprint, self.model.location)  # for `make prune`
        build_index(
            self.folder,
            self._encode,
            self._fingerprint,
            self._tables,
            memory=memory,
            exact_limit=exact_limit,
            report=report,
        )
        if not self._given:
            for other in self.folder.parent.iterdir():
                if other != self.folder and not is_locked(other):
                    shutil.rmtree(other, ignore_errors=True)

    def search(self, memory: int) -> Search:
        """Open the index as far as it is built, with the entities of the model."""
        vocabulary = self._sources.table("03_primary", "entity_vocabulary.parquet", self.model.vocabulary)
        index = Index(self.folder)
        entities = open_entities(self.model.parts, vocabulary, index, memory)
        labels = Labels(self._sources.table("02_intermediate", "sitelinks"), vocabulary)
        return Search(self.model, self._encode, index, entities, labels)

    def _own_folder(self) -> Path:
        """Return the default folder of the index, which changes with the encoder and the sentences."""
        name = re.sub(r"[^\w.-]+", "_", self.model.name).strip("_.")
        key = f"{self._fingerprint[:12]}-{self._tables[2][:12]}"
        return self._sources.data / "07_model_output" / "search" / self._sources.setting / name / key
