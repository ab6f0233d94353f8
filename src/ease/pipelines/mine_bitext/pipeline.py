"""Mine parallel sentences of a setting's languages."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.mine_bitext.nodes import find_bitext_candidates, mine_pairs
from ease.pipelines.setting import EASE_PLUS, MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `mine_bitext` over the ingested sentences of one setting, by its newest encoder of EASE+."""
    stage = pipeline(
        [
            node(
                find_bitext_candidates,
                inputs=["sentences", "links", "sitelinks", "params:mine_bitext", "params:setting"],
                outputs=["bitext_sentences", "bitext_candidates"],
                name="find_bitext_candidates",
            ),
            node(
                mine_pairs,
                inputs=[
                    "bitext_sentences",
                    "bitext_candidates",
                    "encoder",
                    # Their dates give the licences of the sentences.
                    "dumps",
                    "params:mine_bitext",
                    "params:encoding",
                    # The memory of the DuckDB that joins the matches.
                    "params:texts",
                    "params:work",
                    "params:setting",
                ],
                outputs=["bitext", "bitext_report"],
                name="mine_pairs",
            ),
        ],
        namespace="mine_bitext",
        prefix_datasets_with_namespace=False,
        tags="mine_bitext",
    )
    return pipeline(
        stage,
        namespace=setting,
        inputs={"encoder": f"{setting}.{EASE_PLUS}.encoder"},
        parameters={"params:mine_bitext", "params:encoding", "params:texts", "params:work"},
    )
