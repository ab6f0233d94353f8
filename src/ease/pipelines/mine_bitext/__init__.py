"""Mine parallel sentences among those that share entities or whose pages share an item."""
