"""Evaluation: tasks, analyses, metrics, retrieval, clustering, classifiers and scoring."""
