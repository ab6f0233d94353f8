"""Mine parallel sentences among those that share entities or whose pages share an item."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ease.encoders.options import EncodingOptions, LoadingOptions
from ease.entities.bitext import CandidateOptions, LanguagePair, candidate_pairs, language_pairs, number_sentences
from ease.entities.hashing import as_int64, draw
from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.parquet import write_parquet
from ease.lazy import Table, ibis, pd
from ease.options import Rows, Words
from ease.pipelines.options import SAMPLE, TextOptions
from ease.pipelines.setting import Setting
from ease.pipelines.tracking import log_table
from ease.pipelines.work import lock_for_run, scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.texts.bitext.mining import MiningOptions, embed_rows, in_batches, mine_language_pair
from ease.texts.components.sources import Workspace
from ease.wikimedia.wikipedia import wikipedia_licence

if TYPE_CHECKING:
    from ease.encoders.encoding import Encoding

logger = logging.getLogger(__name__)

BITEXT_VERSION = 1
"""Raise it if the same candidates now give other parallel sentences: each language pair is mined again."""
SAMPLE_LICENCES = "apache-2.0 and unicode-3.0"
"""Licences of the sample's sentences: this project's, and CLDR's for names and facts"""
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


def find_bitext_candidates(
    sentences: Table, links: Table, sitelinks: Table, options: BitextOptions, setting: Setting
) -> tuple[Table, Table]:
    """Number the sentences, and find the pairs that share an entity or whose pages share an item."""
    pairs = language_pairs(setting.languages, options)
    numbered = number_sentences(sentences, sitelinks, pairs, options)
    return numbered, candidate_pairs(numbered, links, pairs, options)


def mine_pairs(
    sentences: Table,
    candidates: Table,
    encoder: Path | None,
    dumps: dict[str, Any],
    options: BitextOptions,
    encoding: EncodingOptions,
    texts: TextOptions,
    work: str,
    setting: Setting,
) -> tuple[Path, Rows]:
    """Score the candidates by margin, and match the sentences of each pair of languages one to one.

    The part of a pair of languages stays in the work folder under its `BitextMiner.key`, so that an interrupted run
    continues after the last complete one.

    Returns:
        A folder with one Parquet file for each pair of languages, and one row of counts for each.
    """
    from ease.encoders.encoder import load_for_evaluation
    from ease.encoders.encoding import encode_with, move_to_device

    name = options.encoder or str(encoder)
    pairs = _pairs_with_candidates(candidates, language_pairs(setting.languages, options))
    model = move_to_device(load_for_evaluation(name, LoadingOptions()))
    encode = encode_with(model, encoding, "Encoding", name).for_task("mine_bitext", "BitextMining")
    scratch = scratch_for_run(work, f"{setting.name}.bitext")
    mining = BitextMiner(sentences, candidates, encode, options, texts, scratch)
    cache_folder = lock_for_run(Path(work) / f"{setting.name}.bitext").folder
    folder = scratch / "bitext"
    folder.mkdir()
    rows = Rows()
    parts = []
    for left, right in pairs:
        part, counts = mining.part((left, right), _licence((left, right), dumps), cache_folder)
        shutil.copy2(part / f"{left}-{right}.parquet", folder)
        rows.append({"left": left, "right": right, **counts})
        parts.append(part)
    for older in cache_folder.iterdir():
        # Made from other sentences, candidates, encoders or options.
        if older.is_dir() and older not in parts:
            shutil.rmtree(older)
    table = pd.DataFrame(rows)
    if not table["mined"].any():
        raise EaseError(
            f"No two sentences count as parallel by `mine_bitext.min_score` {options.min_score}: lower it, or name "
            "another `mine_bitext.encoder`."
        )
    logger.info("Mined parallel sentences by %s:\n%s", name, format_table(table))
    log_table(table, "bitext")
    return folder, rows


def _pairs_with_candidates(candidates: Table, pairs: list[LanguagePair]) -> list[LanguagePair]:
    """Return the pairs of languages with candidates; warn of the others."""
    languages = candidates.select("left_language", "right_language").distinct().to_pandas()
    with_candidates = set(languages.itertuples(index=False, name=None))
    pairs_without = ", ".join("-".join(pair) for pair in pairs if pair not in with_candidates)
    if not with_candidates:
        raise EaseError(
            f"No two sentences of {pairs_without} share an entity, and no two pages an item: check that Wikidata has "
            "items of these Wikipedias (`ingest_summary`), raise `mine_bitext.max_sentences_per_page`, or give larger "
            "dumps."
        )
    if pairs_without:
        logger.warning("No two sentences of %s share an entity or a page's item", pairs_without)
    return [pair for pair in pairs if pair in with_candidates]


def _licence(pair: LanguagePair, dumps: Mapping[str, Any]) -> str:
    if dumps["source"] == SAMPLE:
        return SAMPLE_LICENCES
    # Wikipedia's licence depends on the date of the dump.
    files = [file for file in dumps["wikipedia"] if file["language"] in pair]
    return " and ".join(sorted({wikipedia_licence(file["dump_date"]) for file in files}))


class BitextMiner:
    """Mines the parts of all pairs of languages; embeds a language once, in `scratch`, when a part needs it."""

    def __init__(
        self,
        sentences: Table,
        candidates: Table,
        encode: Encoding,
        options: BitextOptions,
        texts: TextOptions,
        scratch: Path,
    ) -> None:
        from ease.encoders.encoding import fingerprint

        self.sentences = sentences
        self.candidates = candidates
        self.encode = encode
        self.options = options
        self.texts = texts
        self.scratch = scratch
        counts = sentences.group_by("language").agg(number=sentences.count()).to_pandas()
        self.sizes = dict(zip(counts["language"], map(int, counts["number"]), strict=True))
        self._vectors = cache(self._embed)
        self._digest = cache(self._digest_of)
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
        of_pair = self.candidates.filter(self.candidates.left_language == left, self.candidates.right_language == right)
        # A sum does not depend on the order of the rows, which engines do not define.
        hashes = draw(0, of_pair.left, of_pair.right) % DIGEST_RANGE
        summary = of_pair.agg(number=of_pair.count(), digest=as_int64(hashes.sum())).to_pandas().iloc[0]
        # The candidates stand for the options that choose them.
        options = self.options.model_dump(exclude={"encoder", *CandidateOptions.model_fields})
        inputs = {
            "version": BITEXT_VERSION,
            "encoder": self._encoder,
            "candidates": [int(summary["number"]), int(summary["digest"])],
            "texts": [self._digest(language) for language in pair],
            "sizes": [self.sizes[language] for language in pair],
            "options": {**options, "licence": licence},
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]

    def _compared(self, language: str) -> Table:
        """Return the sentences of a language that have a candidate, in the order of their rows."""
        left_rows = self.candidates.filter(self.candidates.left_language == language).select(row="left")
        right_rows = self.candidates.filter(self.candidates.right_language == language).select(row="right")
        of_language = self.sentences.filter(self.sentences.language == language)
        return of_language.semi_join(left_rows.union(right_rows).distinct(), "row").order_by("row")

    def _embed(self, language: str) -> Any:
        """Return the embeddings of a language, on disk: (sentences, dimension), of length 1."""
        file = self.scratch / f"{language}.npy"
        return embed_rows(self.encode, self._compared(language), self.sizes[language], file, f"Encoding {language}")

    def _digest_of(self, language: str) -> str:
        """Return a hash of the compared sentences of a language and of where they are from."""
        digest = hashlib.sha256()
        columns = ("row", "page_id", "page_title", "revision_id", "text")
        for batch in in_batches(self._compared(language).select(*columns), 65_536):
            for column in columns:
                digest.update("\0".join(map(str, batch[column].to_pylist())).encode())
        return digest.hexdigest()

    def _mine(self, pair: LanguagePair, licence: str, part: Path) -> None:
        name = "-".join(pair)
        left_size, right_size = (self.sizes[language] for language in pair)
        workspace = Workspace(self.scratch / f"join-{name}", self.texts.memory_limit)
        vectors = {language: self._vectors(language) for language in pair}
        mined, mining_counts = mine_language_pair(
            self.sentences, self.candidates, pair, vectors, self.options, workspace
        )
        counts = {
            "left_sentences": left_size,
            "right_sentences": right_size,
            **mining_counts,
            "percent_compared": round(100 * mining_counts["candidates"] / (left_size * right_size), 4),
        }
        with atomic_folder(part) as partial:
            table = mined.mutate(licence=ibis.literal(licence))
            write_parquet(table, partial / f"{name}.parquet")
            (partial / COUNTS).write_text(json.dumps(counts), encoding="utf-8")
        workspace.connection.disconnect()
        logger.info("Parallel sentences of %s: %s", name, counts)
