"""One folder per pipeline: functions of its nodes, thin over the core, and `create_pipeline`, which connects them."""
