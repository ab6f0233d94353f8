"""Nodes of `mine_bitext`."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ease.encoders.options import EncodingOptions, LoadingOptions
from ease.entities import bitext
from ease.entities.bitext import language_pairs, number_sentences
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.acquire.options import SAMPLE
from ease.pipelines.mine_bitext.parts import BitextOptions, Mining
from ease.pipelines.mlflow_runs import log_table
from ease.pipelines.setting import Setting
from ease.pipelines.training import TextOptions, missing_encoder
from ease.pipelines.work import lock_for_run, scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.wikimedia.wikipedia import wikipedia_licence

logger = logging.getLogger(__name__)

SAMPLE_LICENCES = "apache-2.0 and unicode-3.0"
"""Licences of the sample's sentences: this project's, and CLDR's for names and facts"""


def find_bitext_candidates(
    sentences: ibis.Table,
    links: ibis.Table,
    sitelinks: ibis.Table,
    options: BitextOptions,
    setting: Setting,
) -> tuple[ibis.Table, ibis.Table]:
    """Number the sentences, and find the pairs that share an entity or whose pages share an item."""
    pairs = language_pairs(setting.languages, options)
    numbered = number_sentences(sentences, sitelinks, pairs, options)
    return numbered, bitext.find_candidates(numbered, links, pairs, options)


def mine_pairs(
    sentences: ibis.Table,
    candidates: ibis.Table,
    encoder: Path | None,
    dumps: dict[str, Any],
    options: BitextOptions,
    encoding: EncodingOptions,
    texts: TextOptions,
    work: str,
    setting: Setting,
) -> tuple[Path, list[dict[str, Any]]]:
    """Score the candidates by margin, and match the sentences of each pair of languages one to one.

    The part of a pair of languages is kept in the work folder under a hash of all that it is made from, so that an
    interrupted run continues after the last complete one.

    Returns:
        A folder with one Parquet file for each pair of languages, and one row of counts for each.
    """
    from ease.encoders.encoder import load_for_evaluation
    from ease.encoders.encoding import encode_with, place

    name = options.encoder or (None if encoder is None else str(encoder))
    if name is None:
        raise EaseError(missing_encoder(setting.name, "to compare the sentences by", "mine_bitext.encoder"))
    compared = _compared_pairs(candidates, language_pairs(setting.languages, options))
    model = place(load_for_evaluation(name, LoadingOptions()))
    encode = encode_with(model, encoding, "Encoding", name).for_task("mine_bitext", "BitextMining")
    scratch = scratch_for_run(work, f"{setting.name}.bitext")
    mining = Mining(sentences, candidates, encode, options, texts, scratch)
    kept = lock_for_run(Path(work) / f"{setting.name}.bitext").folder
    folder = scratch / "bitext"
    folder.mkdir()
    rows, parts = [], []
    for left, right in compared:
        licence = _licence((left, right), dumps, options)
        part, counts = mining.part((left, right), licence, kept)
        shutil.copy2(part / f"{left}-{right}.parquet", folder)
        rows.append({"left": left, "right": right, **counts})
        parts.append(part)
    for other in kept.iterdir():
        if (
            other.is_dir() and other not in parts
        ):  # made from other sentences, candidates, encoders or options
            shutil.rmtree(other)
    table = pd.DataFrame(rows)
    if not table["mined"].any():
        raise EaseError(
            f"No two sentences count as parallel by `mine_bitext.min_score` {options.min_score}: lower it, or name "
            "another `mine_bitext.encoder`."
        )
    logger.info("Mined parallel sentences by %s:\n%s", name, format_table(table))
    log_table(table, "bitext")
    return folder, rows


def _compared_pairs(candidates: ibis.Table, pairs: list[bitext.LanguagePair]) -> list[bitext.LanguagePair]:
    """Return the pairs of languages with candidates; warn of the others."""
    counts = candidates.group_by("left_language", "right_language").agg(number=candidates.count()).to_pandas()
    found = set(zip(counts["left_language"], counts["right_language"], strict=True))
    without = ", ".join("-".join(pair) for pair in pairs if pair not in found)
    if not found:
        raise EaseError(
            f"No two sentences of {without} share an entity, and no two pages an item: check that Wikidata has items "
            "of these Wikipedias (`ingest_summary`), raise `mine_bitext.max_sentences_per_page`, or give larger dumps."
        )
    if without:
        logger.warning("No two sentences of %s share an entity or a page's item", without)
    return [pair for pair in pairs if pair in found]


def _licence(pair: bitext.LanguagePair, dumps: Mapping[str, Any], options: BitextOptions) -> str:
    """Return the licence of the sentences of two languages; of two, both."""
    if options.licence is not None:
        return options.licence
    if dumps["source"] == SAMPLE:
        return SAMPLE_LICENCES
    files = [file for file in dumps["wikipedia"] if file["language"] in pair]
    return " and ".join(sorted({wikipedia_licence(file["dump_date"]) for file in files}))
