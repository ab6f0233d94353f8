"""Turn links into sentence–entity pairs, filtered and sampled."""
