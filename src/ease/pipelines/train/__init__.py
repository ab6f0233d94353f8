"""Train an encoder with one method."""
