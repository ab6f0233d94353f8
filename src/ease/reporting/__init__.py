"""The report: our scores beside the published ones, as Markdown, HTML and figures; tables and plots of a run."""
