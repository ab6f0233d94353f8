"""Files, addresses, downloads, locks and Parquet: reading and writing for every other package."""
