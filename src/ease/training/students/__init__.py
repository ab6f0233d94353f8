"""Students: small encoders that reproduce a teacher's embeddings. Importing this package does not import torch."""

from ease.training.students.options import LearningOptions, ShallowOptions, StaticOptions, StudentOptions

__all__ = ["LearningOptions", "ShallowOptions", "StaticOptions", "StudentOptions"]
