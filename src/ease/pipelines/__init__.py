"""One module per pipeline: thin node functions over the core, and below them `create_pipeline`, which connects them."""
