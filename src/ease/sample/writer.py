"""Write the sample wiki as files, atomically; existing complete files are reused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ease.io.result_versions import SAMPLE_WIKI
from ease.sample.dump_files import (
    TRUTHY_NAME,
    WIKIDATA_NAME,
    dump_name,
    page_props_name,
    wikidata_entities,
    write_checksums,
    write_content_export,
    write_dump,
    write_page_props,
    write_truthy,
    write_wikidata,
)
from ease.sample.options import SampleOptions, generate_folder
from ease.sample.wiki import (
    GradedPair,
    ParallelSentence,
    prepare_sample,
    word_facts,
    word_graded,
    word_graded_dev,
    write_pages,
    write_training_texts,
)
from ease.sample.world import SAMPLE_LANGUAGES, read_site

_PARALLEL = pa.schema([("fact_id", pa.string()), ("language", pa.string()), ("text", pa.string())])
_GRADED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])


class SampleFiles:
    """Paths of a sample's files in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wikipedia = folder / "wikipedia"
        """Folder of the Wikipedia dumps: pages, and the table page_props."""
        self.wikidata = folder / WIKIDATA_NAME
        """Wikidata dump in JSON."""
        self.truthy = folder / TRUTHY_NAME
        """Dump of Wikidata's truthy statements."""
        self.parallel = folder / "parallel.parquet"
        """Held-out facts in every language: fact_id, language, text."""
        self.graded = folder / "graded.parquet"
        """Held-out English pairs: sentence1, sentence2, score (0 to 5)."""
        self.graded_dev = folder / "graded_dev.parquet"
        """English pairs about the facts of the parallel sentences, with the same columns."""
        self.nli = folder / "nli.tsv.gz"
        """Training inferences, with XNLI's columns."""
        self.parallel_train = folder / "parallel_train.tsv.gz"
        """Training facts in every language: fact_id, language, text."""


def write_sample(
    folder: Path, languages: Sequence[str] = SAMPLE_LANGUAGES, options: SampleOptions | None = None
) -> SampleFiles:
    """Write the sample wiki into a subfolder named by a hash of its parameters.

    Args:
        folder: Parent folder of samples; created if missing.
        languages: Wikis to write, out of the 18.
        options: Size and seed.

    Raises:
        EaseError: A language has no templates, the options contradict each other, or the folder is not writable.
    """
    options = options or SampleOptions()
    write = partial(_write_files, languages=sorted(languages), options=options)
    return SampleFiles(
        generate_folder(folder, "sample", languages, SAMPLE_LANGUAGES, options, SAMPLE_WIKI, write)
    )


def _write_files(folder: Path, languages: Sequence[str], options: SampleOptions) -> None:
    files, sample = SampleFiles(folder), prepare_sample(options)
    files.wikipedia.mkdir()
    exports: list[Path] = []
    for language in languages:
        pages, site = write_pages(sample, language), read_site(language)
        if options.layout == "content":
            exports += write_content_export(files.wikipedia, site, pages)
        else:
            write_dump(files.wikipedia / dump_name(language), site, pages, options.pages_per_stream)
        qids = {title: entity.qid for entity, title in sample.books[language].wiki.titles.items()}
        write_page_props(files.wikipedia / page_props_name(language), site, pages, qids)
    if exports:
        write_checksums(files.wikipedia, exports)
    entities = list(wikidata_entities(sample.world, sample.books))
    write_wikidata(files.wikidata, entities)
    write_truthy(files.truthy, entities)
    parallel = word_facts(sample.held_out.parallel, sample.books, languages, f"parallel {options.seed}")
    _write_table(files.parallel, parallel, _PARALLEL)
    for file, word in ((files.graded, word_graded), (files.graded_dev, word_graded_dev)):
        pairs = word(sample.held_out, sample.books["en"], options.graded_pairs, options.seed)
        _write_table(file, pairs, _GRADED)
    write_training_texts(files.nli, files.parallel_train, sample, languages)


def _write_table(path: Path, rows: Iterable[ParallelSentence | GradedPair], schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist([row._asdict() for row in rows], schema=schema), path)
