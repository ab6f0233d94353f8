"""Wiring of `mine_bitext`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.mine_bitext.nodes import find_bitext_candidates, mine_pairs
from ease.pipelines.setting import EASE_PLUS

SHARED = ("mine_bitext", "encoding", "texts", "work")


def create_pipeline(setting: str) -> Pipeline:
    """Create `mine_bitext` over the ingested sentences of one setting, by its newest encoder of EASE+."""
    found = ["sentences", "links", "sitelinks", "params:mine_bitext", "params:setting"]
    made = ["bitext_sentences", "bitext_candidates"]
    compared = [*made, "encoder", "dumps", *(f"params:{name}" for name in (*SHARED, "setting"))]
    return pipeline(
        [
            node(find_bitext_candidates, found, made, name="find_bitext_candidates"),
            node(mine_pairs, compared, ["bitext", "bitext_report"], name="mine_pairs"),
        ],
        namespace=setting,
        inputs={"encoder": f"{setting}.{EASE_PLUS}.encoder"},
        parameters=set(SHARED),
        tags="mine_bitext",
    )
