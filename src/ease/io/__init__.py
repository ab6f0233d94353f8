"""Files, addresses, archives, downloads, locks and cache versions: what every other package builds on."""
