"""Plotly figures from data frames."""

from ease.reporting.plots.data import plot_alignment_uniformity as plot_alignment_uniformity
from ease.reporting.plots.data import plot_cosine_distributions as plot_cosine_distributions
from ease.reporting.plots.data import plot_ingest_summary as plot_ingest_summary
from ease.reporting.plots.data import plot_language_pair as plot_language_pair
from ease.reporting.plots.data import plot_mewsc16 as plot_mewsc16
from ease.reporting.plots.data import plot_pair_funnel as plot_pair_funnel
from ease.reporting.plots.data import plot_roc_curves as plot_roc_curves
from ease.reporting.plots.pictures import picture_svg as picture_svg
from ease.reporting.plots.scores import plot_curves as plot_curves
from ease.reporting.plots.scores import plot_scores as plot_scores
from ease.reporting.plots.scores import plot_table_bars as plot_table_bars
from ease.reporting.plots.scores import plot_table_scatter as plot_table_scatter
from ease.reporting.plots.scores import plot_variants as plot_variants
from ease.reporting.plots.style import method_label as method_label
from ease.reporting.plots.style import method_styles as method_styles
