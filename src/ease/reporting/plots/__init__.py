"""Plotly figures from data frames."""

from ease.reporting.plots.data import plot_ingest_summary, plot_mewsc16, plot_pair_funnel
from ease.reporting.plots.embeddings import (
    plot_alignment_uniformity,
    plot_cosine_distributions,
    plot_language_pair,
    plot_roc_curves,
)
from ease.reporting.plots.scores import (
    plot_curves,
    plot_scores,
    plot_table_bars,
    plot_table_scatter,
    plot_variants,
)
from ease.reporting.plots.style import method_label, method_styles

__all__ = [
    "method_label",
    "method_styles",
    "plot_alignment_uniformity",
    "plot_cosine_distributions",
    "plot_curves",
    "plot_ingest_summary",
    "plot_language_pair",
    "plot_mewsc16",
    "plot_pair_funnel",
    "plot_roc_curves",
    "plot_scores",
    "plot_table_bars",
    "plot_table_scatter",
    "plot_variants",
]
