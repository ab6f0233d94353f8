"""Parts of mined sentences, one for each pair of languages, which an interrupted run need not mine again."""

from __future__ import annotations

import hashlib
import json
import logging
from functools import cache
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
        """Keep what all parts are made from; the run removes the files in `scratch`."""
        from ease.encoders.encoding import fingerprint

        self.sentences, self.candidates, self.encode = sentences, candidates, encode
        self.options, self.texts, self.scratch = options, texts, scratch
        counts = sentences.group_by("language").agg(number=sentences.count()).to_pandas()
        self.sizes = dict(zip(counts["language"], map(int, counts["number"]), strict=True))
        self._vectors, self._digest = cache(self._embed), cache(self._digest_of)
        self._encoder = f"{fingerprint(encode.encoder, encode.precision)} {encode.prompt}"

    def part(self, pair: LanguagePair, licence: str, folder: Path) -> tuple[Path, dict[str, Any]]:
        """Return the folder of the part of two languages in `folder`, and its counts; mine a missing part."""
        name = "-".join(pair)
        part = folder / f"{name}-{self.key(pair, licence)}"
        if part.is_dir():
            logger.info("Parallel sentences of %s: kept from an earlier run", name)
        else:
            self._mine(pair, licence, part)
        return part, json.loads((part / COUNTS).read_text(encoding="utf-8"))

    def key(self, pair: LanguagePair, licence: str) -> str:
        """Return a hash of all that the part of two languages is made from."""
        left, right = pair
        own = self.candidates.filter(
            self.candidates.left_language == left, self.candidates.right_language == right
        )
        drawn = draw(0, own.left, own.right)
        found = own.agg(number=own.count(), digest=as_int64((drawn % DIGEST_RANGE).sum())).to_pandas().iloc[0]
        given = self.options.model_dump(exclude={"encoder", *CandidateOptions.model_fields})
        made_from = {
            "version": BITEXT,
            "encoder": self._encoder,
            "candidates": [int(found["number"]), int(found["digest"])],
            "texts": [self._digest(language) for language in pair],
            "sizes": [self.sizes[language] for language in pair],
            "options": {**given, "licence": licence},
        }
        return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:16]

    def _compared(self, language: str) -> ir.Table:
        """Return the sentences of a language that have a candidate, in the order of their rows."""
        rows = self.candidates.filter(self.candidates.left_language == language).select(row="left")
        others = self.candidates.filter(self.candidates.right_language == language).select(row="right")
        own = self.sentences.filter(self.sentences.language == language)
        return own.semi_join(rows.union(others).distinct(), "row").order_by("row")

    def _embed(self, language: str) -> Any:
        """Return the embeddings of a language, on disk: (sentences, dimension), of length 1."""
        from ease.texts.bitext.mining import embed_rows

        file, rows = self.scratch / f"{language}.npy", self.sizes[language]
        return embed_rows(self.encode, self._compared(language), rows, file, f"Encoding {language}")

    def _digest_of(self, language: str) -> str:
        """Return a hash of the compared sentences of a language and of where they are from."""
        from ease.texts.bitext.mining import in_batches

        digest, columns = hashlib.sha256(), ("row", "page_id", "page_title", "revision_id", "text")
        for batch in in_batches(self._compared(language).select(*columns), 65_536):
            for column in columns:
                digest.update("\0".join(map(str, batch[column].to_pylist())).encode())
        return digest.hexdigest()

    def _mine(self, pair: LanguagePair, licence: str, part: Path) -> None:
        from ease.texts.bitext.mining import mine_language_pair
        from ease.texts.components.sources import open_workspace

        name, (left, right) = "-".join(pair), (self.sizes[language] for language in pair)
        workspace = open_workspace(self.scratch / f"join-{name}", self.texts.memory_limit)
        vectors = {language: self._vectors(language) for language in pair}
        found = mine_language_pair(self.sentences, self.candidates, pair, vectors, self.options, workspace)
        counts = {
            "left_sentences": left,
            "right_sentences": right,
            **found.counts,
            "percent_compared": round(100 * found.counts["candidates"] / (left * right), 4),
        }
        with atomic_folder(part) as partial:
            table = found.table.mutate(licence=ibis.literal(licence))
            write_parquet(table, partial / f"{name}.parquet")
            (partial / COUNTS).write_text(json.dumps(counts), encoding="utf-8")
        workspace.connection.disconnect()
        logger.info("Parallel sentences of %s: %s", name, counts)
