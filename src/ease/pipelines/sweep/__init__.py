"""Train and score variants of the methods: seeds, learning rates, controls."""
