"""One folder a pipeline: thin nodes and their wiring."""
