"""Release a run's work folders when it ends."""

from __future__ import annotations

from kedro.framework.hooks import hook_impl

from ease.pipelines.work import release_work


class WorkFolders:
    """Releases work folders after the last output is saved, after an error, and before the process's next run."""

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Release what an interrupted run of this process, such as a notebook, still holds."""
        release_work()

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Release what the run holds."""
        release_work()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Release what the failed run holds."""
        release_work()
