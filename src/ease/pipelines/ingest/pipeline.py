"""Wiring of `ingest`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.ingest.nodes import make_links, parse_wikipedia, read_wikidata, summarize_ingest


def create_pipeline(setting: str) -> Pipeline:
    """Create `ingest` for one setting."""
    options = ["params:ingest", "params:setting", "params:engine"]
    parsed = ["sentences", "redirects", "pages", "page_counts"]
    items = ["sitelinks", "entity_types", "wikidata_counts"]
    linked = ["sentences", "redirects", "sitelinks", "dumps", "params:setting"]
    counted = ["page_counts", "wikidata_counts", "sentences", "links"]
    return pipeline(
        [
            node(parse_wikipedia, ["dumps", *options], parsed, name="parse_wikipedia"),
            node(read_wikidata, ["dumps", "pages", *options], items, name="read_wikidata"),
            node(make_links, linked, "links", name="make_links"),
            node(summarize_ingest, counted, ["ingest_summary", "ingest_plot"], name="summarize_ingest"),
        ],
        namespace=setting,
        parameters={"params:ingest", "params:engine"},
        tags="ingest",
    )
