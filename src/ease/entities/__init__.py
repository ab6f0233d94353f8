"""From links to entity pairs, hard negatives and entity embeddings: Ibis expressions."""
