"""Release a run's work folders when it ends."""

from __future__ import annotations

from kedro.framework.hooks import hook_impl

from ease.pipelines.work import release_work


class WorkFolders:
    """Releases work folders after the last output is saved, after an error, and before the next run of the process."""

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Release folders that an interrupted run of this process, such as a notebook's, still holds."""
        release_work()

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Release the folders of a complete run."""
        release_work()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Release the folders of a failed run."""
        release_work()
