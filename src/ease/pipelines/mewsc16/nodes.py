"""Build MewsC-16 from Wikinews dumps, and compare its statistics with the paper's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pydantic import Field

from ease.encoders.model_card import SAMPLE_LICENCE
from ease.lazy import DataFrame, Figure, pd
from ease.options import StrictModel
from ease.pipelines.options import SAMPLE, AcquireOptions, DumpDate
from ease.pipelines.setting import Languages
from ease.pipelines.tracking import log_plot, log_table
from ease.pipelines.work import scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_mewsc16
from ease.sample.options import SampleNewsOptions
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.mirrors import LATEST, Unavailable, fetch_dumps, is_mirror
from ease.wikimedia.wikinews.editions import WIKINEWS, NewsOptions, NewsSource, clean_released
from ease.wikimedia.wikinews.mewsc16 import build_mewsc16

logger = logging.getLogger(__name__)

SAMPLE_NEWS = NewsSource(
    "the sample Wikinews", "apache-2.0", f"The text is this project's own, and so is its licence: {SAMPLE_LICENCE}."
)
MEASURES = ("sentences", "label_types")
TOTAL_ROW = "total"


class Published(StrictModel):
    """The paper's statistics of a language."""

    sentences: int
    label_types: int


class Mewsc16Options(NewsOptions):
    """The source of the Wikinews dumps, how they are read, and the paper's statistics."""

    wikinews: str = Field(
        description="`sample:`, the https address of a mirror or of the Internet Archive, or a folder, a glob or a "
        "file of Wikinews dumps"
    )
    archive: str | None = Field(
        description="address of the Internet Archive, which is asked if the mirror has no complete dump; null: nothing"
    )
    dump_date: DumpDate = Field(LATEST, description="YYYY-MM-DD, or `latest` for the newest complete one")
    clean: Path | None = Field(
        None, description="folder of the published MewsC-16, to clean its files in place of reading dumps"
    )
    languages: Languages = Field(description="Wikinews language codes")
    sample: SampleNewsOptions = Field(description="size and seed of the sample Wikinews")
    work: Path = Field(description="folder for temporary files")
    published: dict[str, Published] = Field(description="the paper's statistics (Table 13) by language, and `total`")


def locate_wikinews(options: Mewsc16Options, acquire: AcquireOptions) -> dict[str, Any]:
    """Return the Wikinews dumps of the languages with their dates; make the sample's or download a mirror's.

    There are none if published files are to be cleaned.
    """
    if options.clean is not None:
        return {"source": str(options.clean), "wikinews": []}
    source = options.wikinews
    places: str | list[Path] = source
    if source == SAMPLE:
        from ease.sample.news.writer import write_sample_news

        sample = write_sample_news(acquire.sample_folder, options.languages, options.sample)
        places = str(sample.wikinews)
    elif is_mirror(source):
        source, places = _download_wikinews(source, options, acquire)
    dumps = find_dumps(places, options.languages, "wikinews")
    dates = sorted({dump.dump_date or "unknown" for dump in dumps})
    logger.info("%d dumps of Wikinews, dated %s", len(dumps), ", ".join(dates))
    return {"source": source, "wikinews": [dump.as_json() for dump in dumps]}


def _download_wikinews(source: str, options: Mewsc16Options, acquire: AcquireOptions) -> tuple[str, list[Path]]:
    """Download dumps from a mirror, else from the archive; return the address that had them, and the files."""
    mirror = acquire.mirror(options.dump_date)
    try:
        downloads = fetch_dumps(source, options.languages, mirror, "wikinews")
    except Unavailable as reason:
        # Wikinews is closed, and a mirror removes old dumps.
        if options.archive is None or options.archive == source:
            raise
        source = options.archive
        logger.warning("%s The archive is asked instead: %s (`mewsc16.archive`)", reason, source)
        downloads = fetch_dumps(source, options.languages, mirror, "wikinews")
    return source, [path for paths in downloads.pages.values() for path in paths]


def make_mewsc16(wikinews_dumps: dict[str, Any], options: Mewsc16Options) -> tuple[Path, dict[str, dict[str, Any]]]:
    """Build the folder of the data set, and count the pages of each language."""
    folder = scratch_for_run(options.work, "mewsc16") / "mewsc16"
    if options.clean is not None:
        return folder, clean_released(options.clean, options, folder, options.languages)
    dumps = [DumpFile.from_json(file) for file in wikinews_dumps["wikinews"]]
    source = WIKINEWS
    if wikinews_dumps["source"] == SAMPLE:
        source = SAMPLE_NEWS
    return folder, build_mewsc16(dumps, options, folder, source)


def compare_statistics(counts: dict[str, dict[str, Any]], options: Mewsc16Options) -> tuple[DataFrame, Figure]:
    """Compare sentences and label types with the paper's: as a table, as a plot, in the log and in MLflow."""
    table = statistics(counts, options.published)
    figure = plot_mewsc16(table[table["language"] != TOTAL_ROW])
    logger.info("MewsC-16 as made here, beside the paper's Table 13:\n%s", format_table(table))
    log_table(table, "mewsc16")
    log_plot(figure, "mewsc16")
    return table, figure


def statistics(counts: dict[str, dict[str, Any]], published: dict[str, Published]) -> DataFrame:
    """Count sentences and label types of each language and in total, with the paper's and the differences.

    The paper's total is shown only if its languages are those counted.
    """
    rows = [(code, count["sentences"], len(count["classes"])) for code, count in sorted(counts.items())]
    # Languages share topics, so the total is not the sum of the rows.
    topics = {topic for count in counts.values() for topic in count["classes"]}
    rows.append((TOTAL_ROW, sum(sentences for _, sentences, _ in rows), len(topics)))
    table = pd.DataFrame(rows, columns=["language", *MEASURES])
    if counts.keys() != published.keys() - {TOTAL_ROW}:
        published = {language: figures for language, figures in published.items() if language != TOTAL_ROW}
    for index, measure in enumerate(MEASURES):
        by_language = {language: getattr(figures, measure) for language, figures in published.items()}
        printed = table["language"].map(by_language).astype("Int64")
        # Beside the measure's own column, and after the two new ones of each measure before it.
        table.insert(3 * index + 2, f"paper_{measure}", printed)
        table.insert(3 * index + 3, f"{measure}_difference", table[measure] - printed)
    return table
