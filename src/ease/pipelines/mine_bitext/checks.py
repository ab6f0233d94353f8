"""Checks before `mine_bitext`: the encoder that compares the sentences."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.errors import EaseError
from ease.pipelines.checks import PlannedRun
from ease.pipelines.mine_bitext.nodes import BitextOptions, mine_pairs
from ease.pipelines.setting import EASE_PLUS, Setting, preparation_of


def check_mining_encoder(node: Node, run: PlannedRun) -> None:
    """Check the encoder that `mine_bitext.encoder` names; without one, require the setting's encoder of EASE+."""
    setting = run.options(node, Setting).name
    encoder = run.options(node, BitextOptions).encoder
    if encoder is not None:
        run.check_encoder(encoder)
    elif not run.has(f"{setting}.{EASE_PLUS}.encoder"):
        train = f"`kedro run --pipelines=train --namespaces={setting}.{EASE_PLUS}`"
        raise EaseError(
            f"There is no encoder of `{EASE_PLUS}` to compare the sentences by: make the data by "
            f"{preparation_of(setting)}, then train it by {train}, or name another encoder as `mine_bitext.encoder`."
        )


CHECKS = {mine_pairs: [check_mining_encoder]}
