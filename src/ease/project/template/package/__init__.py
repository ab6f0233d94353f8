"""This project's own pipelines and training methods; everything else is in the library."""
