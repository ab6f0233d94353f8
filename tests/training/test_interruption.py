"""Requests to stop, by a signal or by the launcher's death."""

from __future__ import annotations

import os
import signal

import pytest

from ease.training.processes import LAUNCHER_VARIABLE, StopRequest, stop_requests


def test_a_second_ctrl_c_stops_at_once() -> None:
    with stop_requests() as stop:
        assert not stop
        os.kill(os.getpid(), signal.SIGINT)
        assert stop
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal_number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_process_stops_when_its_launcher_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [StopRequest()]
    monkeypatch.setenv(LAUNCHER_VARIABLE, "torchrun")
    requests.append(StopRequest())
    assert not any(requests)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert all(requests)
    monkeypatch.delenv(LAUNCHER_VARIABLE)
    assert not any(requests), "a shell's end is no request"
