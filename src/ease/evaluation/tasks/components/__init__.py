"""Parts that tasks share: readers of published file formats and evaluation protocols."""
