"""Checks before an audit: the language that the others are matched with."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.entities.audit import AuditOptions
from ease.pipelines.audit.nodes import check_pivot, find_audit_candidates
from ease.pipelines.checks import PlannedRun
from ease.pipelines.setting import Setting


def check_audit_pivot(node: Node, run: PlannedRun) -> None:
    """Refuse a pivot that the setting lacks, which would end the run only after the dumps are parsed."""
    check_pivot(run.options(node, AuditOptions), run.options(node, Setting))


CHECKS = {find_audit_candidates: [check_audit_pivot]}
