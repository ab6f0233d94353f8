"""Checks before an audit: the language that the others are matched with."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.entities.audit import AuditOptions
from ease.errors import EaseError
from ease.pipelines.audit.nodes import find_audit_candidates
from ease.pipelines.checks import PlannedRun
from ease.pipelines.setting import Setting


def check_pivot(node: Node, run: PlannedRun) -> None:
    """Refuse a setting without the pivot, or without another language."""
    pivot = run.options(node, AuditOptions).pivot
    setting = run.options(node, Setting)
    if pivot in setting.languages and len(setting.languages) > 1:
        return
    remedy = f"give it {pivot} and another language"
    if len(setting.languages) > 1:
        # The first language of `teach` is the one to teach.
        remedy = f"set `audit.pivot` to one of these, such as {setting.languages[1]}, or add {pivot}"
    raise EaseError(
        f"An audit matches sentences of other languages with `audit.pivot` {pivot}, and the setting {setting.name} has "
        f"{', '.join(setting.languages)}: {remedy}."
    )


CHECKS = {find_audit_candidates: [check_pivot]}
