"""Wiring of `mine_bitext`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.mine_bitext.nodes import find_bitext_candidates, mine_pairs
from ease.pipelines.setting import EASE_PLUS

ENCODER = EASE_PLUS
"""The method whose newest encoder compares the sentences, unless the parameters name another one."""


def create_pipeline(setting: str) -> Pipeline:
    """Create `mine_bitext` over the ingested sentences of one setting."""
    return pipeline(
        [
            node(
                find_bitext_candidates,
                ["sentences", "links", "sitelinks", "params:mine_bitext", "params:setting"],
                ["bitext_sentences", "bitext_candidates"],
                name="find_bitext_candidates",
            ),
            node(
                mine_pairs,
                [
                    "bitext_sentences",
                    "bitext_candidates",
                    "encoder",
                    "dumps",
                    *(f"params:{name}" for name in ("mine_bitext", "encoding", "setting", "texts", "work")),
                ],
                ["bitext", "bitext_report"],
                name="mine_pairs",
            ),
        ],
        namespace=setting,
        inputs={"encoder": f"{setting}.{ENCODER}.encoder"},
        parameters={f"params:{name}" for name in ("mine_bitext", "encoding", "texts", "work")},
        tags="mine_bitext",
    )
