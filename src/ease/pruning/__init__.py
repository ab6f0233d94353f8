"""Old versions, parsed parts and other leftovers in the data folder: found, listed, and removed on demand."""
