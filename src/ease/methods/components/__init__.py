"""Parts that training methods share: losses, masking, DropHead, the entity table and collective operations."""
