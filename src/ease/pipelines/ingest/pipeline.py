"""Parse the dumps of a setting into tables."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.ingest.nodes import make_links, parse_wikipedia, read_wikidata, summarize_ingest
from ease.pipelines.setting import MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `ingest` for one setting."""
    stage = pipeline(
        [
            node(
                parse_wikipedia,
                # With `engine=spark`, the workers parse the dumps.
                inputs=["dumps", "params:ingest", "params:setting", "params:engine"],
                outputs=["sentences", "redirects", "pages", "page_counts"],
                name="parse_wikipedia",
            ),
            node(
                read_wikidata,
                # page_props tables name pages by their numbers, Wikidata by their titles: `pages` has both.
                inputs=["dumps", "pages", "params:ingest", "params:setting", "params:engine"],
                outputs=["sitelinks", "entity_types", "wikidata_counts"],
                name="read_wikidata",
            ),
            node(
                make_links,
                # The dumps say whether there is a Wikidata, which identifies the same entity across languages.
                inputs=["sentences", "redirects", "sitelinks", "dumps", "params:setting"],
                outputs="links",
                name="make_links",
            ),
            node(
                summarize_ingest,
                inputs=["page_counts", "wikidata_counts", "sentences", "links"],
                outputs=["ingest_summary", "ingest_plot"],
                name="summarize_ingest",
            ),
        ],
        namespace="ingest",
        prefix_datasets_with_namespace=False,
        tags="ingest",
    )
    return pipeline(stage, namespace=setting, parameters={"params:ingest", "params:engine"})
