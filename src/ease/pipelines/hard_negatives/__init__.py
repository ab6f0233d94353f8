"""Give each pair an entity of the same type that does not appear on its page."""
