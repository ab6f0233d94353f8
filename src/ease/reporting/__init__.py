"""The report: scores made here beside the papers' own, as Markdown, as one HTML file and as figures."""

from ease.reporting.html import render_comparison, render_html
from ease.reporting.markdown import render_markdown
from ease.reporting.own import OwnModel, gather_models
from ease.reporting.published import Published
from ease.reporting.report import Report, build_report
from ease.reporting.scatters import ReportOptions

__all__ = [
    "OwnModel",
    "Published",
    "Report",
    "ReportOptions",
    "build_report",
    "gather_models",
    "render_comparison",
    "render_html",
    "render_markdown",
]
