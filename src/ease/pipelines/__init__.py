"""One folder for each pipeline: `nodes.py` with thin functions over the core, `pipeline.py` with their wiring."""
