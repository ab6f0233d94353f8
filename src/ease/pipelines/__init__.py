"""One folder per pipeline: `nodes.py` has thin functions that call the core, `pipeline.py` connects them."""
