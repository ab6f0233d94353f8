"""Moved to `ease.reporting.report`."""

from ease.reporting.report import render_comparison as render_comparison
from ease.reporting.report import render_html as render_html
from ease.reporting.report import render_markdown as render_markdown
from ease.reporting.report import table_markdown as table_markdown
