"""Work folders outlive a run that failed to save its results."""

from __future__ import annotations

from pathlib import Path

from ease.pipelines.work import lock_for_run, release_work, remove_after_run


def test_finished_work_is_removed_only_after_a_successful_run(tmp_path: Path) -> None:
    for succeeded in (False, True):
        folder = lock_for_run(tmp_path / "sweep").folder
        (folder / "training").mkdir(exist_ok=True)
        remove_after_run(folder)
        release_work(succeeded=succeeded)
        assert (folder / "training").exists() is not succeeded
    release_work(succeeded=True)
