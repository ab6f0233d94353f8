"""Components of training methods: losses, masking, DropHead, the entity table, collective operations."""
