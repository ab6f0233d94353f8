"""Wikipedia: dump shards parsed into the tables `sentences`, `redirects` and `pages`."""
