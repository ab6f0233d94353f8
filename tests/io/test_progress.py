"""Where there is no terminal, the log says what is done, of how much, after some seconds of silence."""

from __future__ import annotations

import logging
import re
import time

import pytest

from ease.io.progress import ProgressBar, report_progress


@pytest.fixture(autouse=True)
def short_silence(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("ease.io.progress.SILENCE", 0.1)
    caplog.set_level(logging.INFO)


def test_lines_say_what_nested_loops_have_done(caplog: pytest.LogCaptureFixture) -> None:
    with report_progress(lambda: "Node 1 of 2"):
        for _ in ProgressBar(range(3), desc="tasks", unit="task"):
            with ProgressBar(desc="read", unit="B") as read:
                for _ in ProgressBar(range(40), desc="tatoeba", unit="subset"):
                    time.sleep(0.02)
                    read.update(1_000_000)
            break
    line = re.compile(r"Node 1 of 2; tasks: 0 of 3 tasks; read: (\d+) MB; tatoeba: \1 of 40 subsets")
    counts = [int(match[1]) for text in caplog.messages if (match := line.fullmatch(text))]
    assert len(counts) == len(set(counts)) >= 3, caplog.messages
    before = len(caplog.messages)
    time.sleep(0.3)
    assert len(caplog.messages) == before, "nothing after the block"


def test_a_log_with_other_lines_has_none(caplog: pytest.LogCaptureFixture) -> None:
    with report_progress(lambda: "Node 1 of 2"):
        for number in range(20):
            logging.getLogger("ease").info("line %d", number)
            time.sleep(0.02)
    assert caplog.messages == [f"line {number}" for number in range(20)]


def test_a_loop_that_takes_no_items_still_has_lines_and_a_failed_one_leaves_none(
    caplog: pytest.LogCaptureFixture,
) -> None:

    def break_off() -> None:
        for _ in ProgressBar([1], desc="classifiers", unit="classifier"):
            time.sleep(0.35)
            raise ValueError("broken")

    with report_progress(lambda: "Node 2 of 2"), pytest.raises(ValueError, match="broken"):
        break_off()
    assert set(caplog.messages) == {"Node 2 of 2; classifiers: 0 of 1 classifiers"}
    assert len(caplog.messages) >= 2
    caplog.clear()
    with report_progress(lambda: "Node 1 of 1"):
        time.sleep(0.25)
    assert set(caplog.messages) == {"Node 1 of 1"}
