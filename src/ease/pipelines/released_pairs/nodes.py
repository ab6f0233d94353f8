"""Released pairs in place of dumps: their files, tables, links, and training pairs."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ease.entities.links import page_subjects, resolve_links
from ease.entities.negatives import HardNegativeOptions, draw_released_negatives
from ease.entities.pairs import (
    PairOptions,
    add_further_entities,
    check_pairs_left,
    count_filters,
    pairs_with_filters,
    select_pairs,
)
from ease.entities.released import UNDETERMINED, find_released, ingest_released
from ease.errors import EaseError
from ease.io.downloads import Client, RemoteFile, download
from ease.io.files import hash_contents
from ease.lazy import Table
from ease.pipelines.located_dumps import released_files
from ease.pipelines.options import AcquireOptions, CachedIngestOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.wikidata import SITELINKS_FILE, TYPES_FILE
from ease.wikimedia.wikipedia import REDIRECTS_FILE, SENTENCES_FILE

logger = logging.getLogger(__name__)


def locate_released_pairs(acquire: AcquireOptions, pairs: PairOptions, setting: Setting) -> dict[str, Any]:
    """List the files of released pairs, in the form of located dumps; the file at an https address is downloaded once.

    Raises:
        EaseError: If the parameters name no pairs, or there is no such file.
    """
    source = require_source(pairs, setting)
    if is_mirror(source):
        # By the address, since files of several addresses have one name.
        folder = acquire.download_folder / "released" / hashlib.sha256(source.encode()).hexdigest()[:16]
        files = [folder / (Path(urlsplit(source).path).name or "pairs.json")]
        with Client(acquire.download) as client:
            download(RemoteFile(source, files[0]), client)
    else:
        files = find_released(source)
    return {
        "source": source,
        "released": [{"path": str(file), "sha256": hash_contents(file)} for file in files],
        "wikipedia": [],
        "page_props": [],
        "wikidata": None,
        "wikidata_source": None,
        "wikidata_form": None,
        "wikidata_date": None,
    }


def require_source(pairs: PairOptions, setting: Setting) -> str:
    """Return where the released pairs of a setting are."""
    if pairs.released is None:
        raise EaseError(
            f"`{setting.name}.pairs.released` is null: name a file, a glob or an https address of pairs, or choose "
            "another setting by `--namespaces`."
        )
    return pairs.released


def read_released_pairs(
    dumps: dict[str, Any], options: CachedIngestOptions, setting: Setting
) -> tuple[list[Path], list[Path], list[Path], list[Path]]:
    """Read the pairs into the tables of dumps, as `ingest_released` describes them.

    Returns:
        The files of the tables `sentences`, `redirects`, `sitelinks` (titles) and `entity_types` (lists of negatives).
    """
    part, counts = ingest_released(released_files(dumps), _language(setting), options.folder)
    logger.info("%d released pairs; %d records with a blank text are dropped", counts["pairs"], counts["blank"])
    return [part / SENTENCES_FILE], [part / REDIRECTS_FILE], [part / SITELINKS_FILE], [part / TYPES_FILE]


def link_released_pairs(sentences: Table, redirects: Table, setting: Setting) -> Table:
    """Return the link of each sentence to its entity, which is identified by the hash of the title."""
    return resolve_links(sentences, redirects, None, [_language(setting)])


def make_released_pairs(
    sentences: Table,
    links: Table,
    sitelinks: Table,
    entity_types: Table,
    entity_vocabulary: Table,
    pairs: PairOptions,
    negatives: HardNegativeOptions,
    setting: Setting,
) -> Table:
    """Make a training pair from each released pair; its hard negative is drawn from the pair's own list."""
    options = pairs.without_limits()
    # Read by the check and by the pairs: a lazy expression would be computed for each.
    filtered = pairs_with_filters(sentences, links, entity_vocabulary, options).cache()
    check_pairs_left(count_filters(filtered, options).to_pandas(), options.min_pairs_per_language, setting.languages)
    selected = select_pairs(filtered, sentences, options)
    mined = draw_released_negatives(selected, entity_types, negatives.seed)
    subjects = page_subjects(sentences, sitelinks)
    return add_further_entities(mined, links, subjects, entity_vocabulary, negatives.seed)


def _language(setting: Setting) -> str:
    """Return the language of released pairs, whose files name none: the setting's, if it has a single one."""
    if len(setting.languages) == 1:
        return setting.languages[0]
    return UNDETERMINED
