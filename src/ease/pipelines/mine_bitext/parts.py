"""Parts of mined sentences, one for each pair of languages, which an interrupted run need not mine again."""

from __future__ import annotations

import hashlib
import json
import logging
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ease.entities.bitext import CandidateOptions, LanguagePair
from ease.entities.hashing import as_int64, draw
from ease.io.atomic import atomic_folder
from ease.io.lazy import ibis
from ease.io.models import Words
from ease.io.parquet import write_parquet
from ease.io.result_versions import BITEXT
from ease.pipelines.training import TextOptions
from ease.texts.bitext.mining import MiningOptions

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from ease.encoders.encoding import Encoding

logger = logging.getLogger(__name__)

COUNTS = "counts.json"
DIGEST_RANGE = 1 << 24
"""Candidates are hashed to numbers below it, whose sum fits into 64 bits."""


class BitextOptions(CandidateOptions, MiningOptions):
    """Which sentences are compared, by which encoder, and which count as parallel."""

    languages: Words | None = Field(
        None, min_length=1, description="languages to compare; null: all languages of the setting"
    )
    encoder: str | None = Field(
        None,
        min_length=1,
        description="a hub name, a folder, or a text file of word vectors; null: the setting's newest encoder of "
        "`ease_plus`",
    )
    licence: str | None = Field(
        None,
        min_length=1,
        description="licence of the sentences, as the hub names it; null: Wikipedia's, by the dump's date",
    )


class Mining:
    """The tables, the encoder and the options of a run, with the embeddings of each language once they are needed."""

    def __init__(
        self,
        sentences: ibis.Table,
        candidates: ibis.Table,
        encode: Encoding,
        options: BitextOptions,
        texts: TextOptions,
        scratch: Path,
    ) -> None:
        """Keep what all parts are made from.

        Args:
            sentences: Numbered sentences of all languages.
            candidates: Rows of sentences to compare.
            encode: The encoder.
            options: Neighbours and the lowest margin.
            texts: Memory limit of the engine that joins the texts.
            scratch: Folder of files that the run removes.
        """
        self.sentences, self.candidates, self.encode = sentences, candidates, encode
        self.options, self.texts, self.scratch = options, texts, scratch
        self._vectors: dict[str, Any] = {}
        self._digests: dict[str, str] = {}

    def compared(self, language: str) -> ir.Table:
        """Return the sentences of a language that have a candidate, in the order of their rows."""
        rows = self.candidates.filter(self.candidates.left_language == language).select(row="left")
        others = self.candidates.filter(self.candidates.right_language == language).select(row="right")
        own = self.sentences.filter(self.sentences.language == language)
        return own.semi_join(rows.union(others).distinct(), "row").order_by("row")

    def vectors(self, language: str) -> Any:
        """Return the embeddings of a language, on disk: (sentences, dimension), of length 1."""
        from ease.texts.bitext.mining import embed_rows

        if language not in self._vectors:
            rows = self.sizes[language]
            file = self.scratch / f"{language}.npy"
            self._vectors[language] = embed_rows(
                self.encode, self.compared(language), rows, file, f"Encoding {language}"
            )
        return self._vectors[language]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of sentences of each language."""
        counts = self.sentences.group_by("language").agg(number=self.sentences.count()).to_pandas()
        return {language: int(number) for language, number in counts.itertuples(index=False)}

    def key(self, pair: LanguagePair, licence: str) -> str:
        """Return a hash of all that the part of two languages is made from."""
        own = self.candidates.filter(
            self.candidates.left_language == pair[0], self.candidates.right_language == pair[1]
        )
        drawn = draw(0, own.left, own.right)
        found = own.agg(number=own.count(), digest=as_int64((drawn % DIGEST_RANGE).sum())).to_pandas().iloc[0]
        given = self.options.model_dump(exclude={"encoder", *CandidateOptions.model_fields})
        made_from = {
            "version": BITEXT,
            "encoder": self.fingerprint,
            "candidates": [int(found["number"]), int(found["digest"])],
            "texts": [self._digest(language) for language in pair],
            "sizes": [self.sizes[language] for language in pair],
            "options": {**given, "licence": licence},
        }
        return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the encoder and its prompt."""
        from ease.encoders.encoding import fingerprint

        return f"{fingerprint(self.encode.encoder, self.encode.precision)} {self.encode.prompt}"

    def _digest(self, language: str) -> str:
        """Return a hash of the compared sentences of a language and of where they are from."""
        from ease.texts.bitext.mining import in_batches

        if language not in self._digests:
            digest = hashlib.sha256()
            columns = ("row", "page_id", "page_title", "revision_id", "text")
            for batch in in_batches(self.compared(language).select(*columns), 65_536):
                for column in columns:
                    digest.update("\0".join(map(str, batch[column].to_pylist())).encode())
            self._digests[language] = digest.hexdigest()
        return self._digests[language]


def mined_part(mining: Mining, pair: LanguagePair, licence: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the folder of the part of two languages, and its counts; mine it if no earlier run has.

    Args:
        mining: What the part is made from.
        pair: The left and the right language.
        licence: Licence of the sentences.
        folder: Where parts are kept from run to run.
    """
    part = folder / f"{'-'.join(pair)}-{mining.key(pair, licence)}"
    if part.is_dir():
        logger.info("Parallel sentences of %s: kept from an earlier run", "-".join(pair))
    else:
        _mine(mining, pair, licence, part)
    return part, json.loads((part / COUNTS).read_text(encoding="utf-8"))


def _mine(mining: Mining, pair: LanguagePair, licence: str, part: Path) -> None:
    from ease.texts.bitext.mining import mine_language_pair
    from ease.texts.components.sources import open_workspace

    workspace = open_workspace(mining.scratch / f"join-{'-'.join(pair)}", mining.texts.memory_limit)
    found = mine_language_pair(
        mining.sentences,
        mining.candidates,
        pair,
        {language: mining.vectors(language) for language in pair},
        mining.options,
        workspace,
    )
    sizes = [mining.sizes[language] for language in pair]
    counts = {
        "left_sentences": sizes[0],
        "right_sentences": sizes[1],
        **found.counts,
        "percent_compared": round(100 * found.counts["candidates"] / (sizes[0] * sizes[1]), 4),
    }
    with atomic_folder(part) as partial:
        write_parquet(
            found.table.mutate(licence=ibis.literal(licence)), partial / f"{'-'.join(pair)}.parquet"
        )
        (partial / COUNTS).write_text(json.dumps(counts), encoding="utf-8")
    workspace.connection.disconnect()
    logger.info("Parallel sentences of %s: %s", "-".join(pair), counts)
