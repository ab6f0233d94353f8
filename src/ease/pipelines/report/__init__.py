"""Compare the methods of a setting, and all scores with the published ones."""
