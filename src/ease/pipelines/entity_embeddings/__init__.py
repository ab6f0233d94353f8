"""Wikipedia2Vec vectors for the entity vocabulary: trained here, loaded, or random."""
