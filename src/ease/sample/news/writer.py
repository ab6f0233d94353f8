"""Write the sample Wikinews as files, atomically; existing complete files are reused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from ease.io.result_versions import SAMPLE_NEWS
from ease.sample.dump_files import dump_name, revision_id, write_dump
from ease.sample.facts import World, read_world
from ease.sample.generated_folder import generate_folder
from ease.sample.names import read_names
from ease.sample.news.articles import CASES, PLAIN, NewsPage, NewsWriter, topics_for
from ease.sample.news.other_pages import write_news_redirects, write_other_namespaces
from ease.sample.news.stories import Reporter
from ease.sample.news.words import NewsWords, Topic, read_news_words
from ease.sample.options import SampleNewsOptions
from ease.sample.phrases import make_phrasebook, nouns
from ease.wikimedia.languages import MEWSC16_LANGUAGES

SMALL_CLASS = 6
"""Articles of the last topic of a wiki; a class of MewsC-16 needs ten."""

_TERRITORIES = 243
_ARTICLES_PER_CASE = 50
"""One of this many articles is of each case."""
_TRUTH = pa.schema(
    [
        *(("language", pa.string()), ("page_id", pa.int64()), ("revision_id", pa.int64())),
        *(("namespace", pa.int32()), ("title", pa.string()), ("case", pa.string())),
        *(("topic", pa.string()), ("dropped", pa.string()), ("first_sentence", pa.string())),
    ]
)


class SampleNews:
    """Paths of a sample Wikinews in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wikinews = folder / "wikinews"
        """Folder of the Wikinews dumps."""
        self.truth = folder / "news_truth.parquet"
        """Expected result for each page of the dumps.

        Columns: language, page_id, revision_id, namespace, title, case; topic (in English) and first_sentence, or
        the reason why the page is dropped. Small classes are not dropped here.
        """


def write_sample_news(
    folder: Path, languages: Sequence[str] = MEWSC16_LANGUAGES, options: SampleNewsOptions | None = None
) -> SampleNews:
    """Write the sample Wikinews into a subfolder named by a hash of its parameters.

    Args:
        folder: Parent folder of samples; created if missing.
        languages: Wikis to write, out of the 16 of MewsC-16 (appendix E of the paper).
        options: Size and seed.

    Raises:
        EaseError: A language has no templates, or the folder is not writable.
    """
    options = options or SampleNewsOptions()
    write = partial(_write_files, languages=sorted(languages), options=options)
    made = generate_folder(folder, "sample-news", languages, MEWSC16_LANGUAGES, options, SAMPLE_NEWS, write)
    return SampleNews(made)


def _write_files(folder: Path, languages: Sequence[str], options: SampleNewsOptions) -> None:
    files = SampleNews(folder)
    files.wikinews.mkdir()
    world = read_world(_TERRITORIES)
    truth: list[dict[str, Any]] = []
    for language in tqdm(languages, desc="sample Wikinews", unit="wiki", disable=None):
        pages = write_news_pages(language, world, options)
        site = read_news_words(language).site
        path = files.wikinews / dump_name(language, site.project)
        write_dump(path, site, [page.page for page in pages], options.pages_per_stream)
        for page_id, page in enumerate(pages, start=1):
            ids = {"language": language, "page_id": page_id, "revision_id": revision_id(language, page_id)}
            truth.append({**ids, **vars(page.page), **vars(page)})
    pq.write_table(pa.Table.from_pylist(truth, schema=_TRUTH), files.truth)


def write_news_pages(language: str, world: World, options: SampleNewsOptions) -> list[NewsPage]:
    """Return all pages of one wiki in the order of its dump."""
    random = Random(f"news {options.seed} {language}")
    words = read_news_words(language)
    book = make_phrasebook(read_names(language, world.entities, nouns(language)))
    reporter, writer = Reporter(book, world, random), NewsWriter(book, words, random)
    pages = [
        writer.write(reporter.report(topic), case, number)
        for number, (case, topic) in enumerate(_assignments(words, options.news_per_language))
    ]
    some = [page.page.title for page in pages[:: len(CASES)]]
    pages += write_news_redirects(words, some)
    pages += write_other_namespaces(book, words, some)
    random.shuffle(pages)
    return pages


def _assignments(words: NewsWords, articles: int) -> Iterator[tuple[str, Topic]]:
    """Yield a case and a topic for each article; all cases, and all topics but the last, are equally frequent."""
    special = [case for case in CASES for _ in range(max(1, articles // _ARTICLES_PER_CASE))]
    for number, case in enumerate(special):
        topics = topics_for(case, words)
        yield case, topics[number % len(topics)]
    common = topics_for(PLAIN, words)
    for number in range(articles - len(special) - SMALL_CLASS):
        yield PLAIN, common[number % len(common)]
    for _ in range(SMALL_CLASS):
        yield PLAIN, words.topics[-1]
