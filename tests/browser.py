"""Headless Chromium, controlled through the DevTools protocol."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--window-size=1600,1200"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # blocks the network
)
PATIENCE = 120
"""Timeout in seconds for the content of a page on a busy machine."""


class Browser:
    """One browser page; commands and answers are JSON messages, each terminated by a zero byte."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._session: str | None = None
        self._count = 0
        self._requested: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Network.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Send a command and return its result; of events, keep the addresses of requests."""
        self._count += 1
        about = {"sessionId": self._session} if self._session else {}
        request = {"id": self._count, "method": method, "params": given, **about}
        self._commands.write(json.dumps(request).encode() + b"\0")
        while (message := self._read()).get("id") != self._count:
            if message["method"] == "Network.requestWillBeSent":
                self._requested.append(message["params"]["request"]["url"])
        assert "error" not in message, f"{method}: {message['error']}"
        result: dict[str, Any] = message["result"]
        return result

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser closed the connection"
            text += byte
        message: dict[str, Any] = json.loads(text)
        return message

    def open(self, address: str) -> None:
        """Navigate to an address."""
        self.call("Page.navigate", url=address)

    def requests_elsewhere(self) -> list[str]:
        """Return the addresses on other machines that pages have requested since the last call."""
        requested = self._requested
        self._requested = []
        schemes = ("about:", "blob:", "data:", "file:", "http://127.0.0.1:")
        return [address for address in requested if not address.startswith(schemes)]

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self) -> str:
        """Return the text that the page shows."""
        shown: str = self.evaluate("document.body ? document.body.innerText : ''")
        return shown

    def texts(self, selector: str) -> list[str]:
        """Return the text of each element that matches a CSS selector."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].map(element => element.textContent)"
        texts: list[str] = self.evaluate(found)
        return texts

    def wait_for(self, *expected: str) -> str:
        """Wait until the page shows all expected texts and return its text."""
        self.wait_until(f"{json.dumps(expected)}.every(words => document.body?.innerText.includes(words))")
        return self.text()

    def wait_until(self, expression: str) -> None:
        """Wait until a JavaScript expression is true in the page."""
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, f"not true: {expression}\n{self.text()}"
            time.sleep(0.1)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Yield a running browser and kill all its processes at the end; skip the test without Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("Chromium is not installed: scripts/system_packages.sh browser")
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4. bash, because some shells only support single digits.
    redirected = f'exec "$0" "$@" 3<&{command_out} 4>&{answer_in}'
    options = [*FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
    started = subprocess.Popen(
        ["bash", "-c", redirected, chromium, *options],
        pass_fds=(command_out, answer_in),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(command_out)
    os.close(answer_in)
    try:
        yield Browser(command_in, answer_out)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
