"""Wiring of `ingest`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.ingest.nodes import make_links, parse_wikipedia, read_wikidata, summarize_ingest


def create_pipeline(setting: str) -> Pipeline:
    """Create `ingest` for one setting."""
    return pipeline(
        [
            node(
                parse_wikipedia,
                ["dumps", "params:ingest", "params:setting", "params:engine"],
                ["sentences", "redirects", "pages", "page_counts"],
                name="parse_wikipedia",
            ),
            node(
                read_wikidata,
                ["dumps", "pages", "params:ingest", "params:setting", "params:engine"],
                ["sitelinks", "entity_types", "wikidata_counts"],
                name="read_wikidata",
            ),
            node(
                make_links,
                ["sentences", "redirects", "sitelinks", "dumps", "params:setting"],
                "links",
                name="make_links",
            ),
            node(
                summarize_ingest,
                ["page_counts", "wikidata_counts", "sentences", "links"],
                ["ingest_summary", "ingest_plot"],
                name="summarize_ingest",
            ),
        ],
        namespace=setting,
        parameters={"params:ingest", "params:engine"},
        tags="ingest",
    )
