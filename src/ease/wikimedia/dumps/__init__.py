"""Dump files: finding and downloading them, shards, streams of pages, SQL tables, and parts written as Parquet."""
