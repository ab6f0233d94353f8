"""Say what a job would do, without doing it: pages, disk, memory and hours at rates measured on this machine."""

from ease.pipelines.plan.pipeline import create_pipeline

__all__ = ["create_pipeline"]
