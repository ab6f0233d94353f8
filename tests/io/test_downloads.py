"""Downloads from a server that breaks, changes, refuses and delays."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from ease.errors import EaseError
from ease.io import downloads
from ease.io.downloads import Client, DownloadOptions, NotFound, RemoteFile, Stopped, download, download_all
from tests.file_server import Answer, FileServer, running_server

CONTENT = Random(1).randbytes(700_000)
QUICK = DownloadOptions(attempts=3, first_pause=0.01, timeout=5)


def sums(content: bytes, *algorithms: str) -> dict[str, str]:
    return {name: hashlib.new(name, content).hexdigest() for name in algorithms}


@pytest.fixture
def server(server: FileServer) -> FileServer:
    server.files["/file.bz2"] = CONTENT
    return server


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(QUICK) as quick:
        yield quick


@pytest.fixture
def file(server: FileServer, tmp_path: Path) -> RemoteFile:
    url = f"{server.address}/file.bz2"
    return RemoteFile(url, tmp_path / "dumps" / "file.bz2", sums(CONTENT, "sha1", "md5"), len(CONTENT))


def assert_fetched(file: RemoteFile, client: Client) -> None:
    """Download a file, which is complete then, and alone in its folder."""
    assert download(file, client)
    assert file.path.read_bytes() == CONTENT
    assert list(file.path.parent.iterdir()) == [file.path]


@pytest.mark.parametrize("known", [{}, sums(CONTENT, "sha256", "md5")])
def test_fetches_a_file_once_and_says_who_asks(server: FileServer, tmp_path: Path, known: dict[str, str]) -> None:
    file = RemoteFile(f"{server.address}/file.bz2", tmp_path / "file.bz2", known)
    with Client(QUICK.model_copy(update={"contact": "me@example.org"})) as client:
        assert_fetched(file, client)
        assert not download(file, client)
    (headers,) = server.requests("/file.bz2")
    agent = r"EASE/\d\S* \(sentence embeddings from Wikipedia; me@example\.org\)"
    assert re.fullmatch(agent, headers["User-Agent"])
    assert headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("tags", [True, False])
def test_resumes_a_broken_download(server: FileServer, client: Client, file: RemoteFile, tags: bool) -> None:
    # More breaks than attempts: each brings something new.
    server.tags = tags
    server.answers["/file.bz2"] = [Answer(break_after=150_000)] * 4
    assert_fetched(file, client)
    starts = [int(asked[6:-1]) for asked in server.ranges("/file.bz2") if asked]
    assert starts == [150_000, 300_000, 450_000, 600_000]
    conditions = {headers["If-Range"] for headers in server.requests("/file.bz2")[1:]}
    assert conditions == ({f'"{hashlib.md5(CONTENT).hexdigest()}"'} if tags else {None})


def test_starts_over_if_the_file_has_changed(server: FileServer, client: Client, tmp_path: Path) -> None:
    server.answers["/file.bz2"] = [Answer(body=b"old" * 1000, break_after=2000)]
    file = RemoteFile(f"{server.address}/file.bz2", tmp_path / "file.bz2")
    assert_fetched(file, client)
    assert server.ranges("/file.bz2") == [None, "bytes=2000-"]


def test_waits_as_long_as_a_busy_server_asks(server: FileServer, client: Client, file: RemoteFile) -> None:
    # A date has full seconds: at least a half is left.
    wait = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 1.5))
    server.answers["/file.bz2"] = [Answer(status=503, headers={"Retry-After": wait})]
    start = time.monotonic()
    assert_fetched(file, client)
    assert 0.4 < time.monotonic() - start < 20


def test_gives_up_at_last_and_keeps_the_received_bytes(server: FileServer, client: Client, file: RemoteFile) -> None:
    beyond_any_number = Answer(status=503, headers={"Retry-After": "9" * 5000})
    server.answers["/file.bz2"] = [Answer(break_after=100_000), beyond_any_number, *[Answer(status=503)] * 2]
    with pytest.raises(EaseError, match=r"503 Service Unavailable, at the last of 3 attempts in a row\. .* are kept"):
        download(file, client)
    assert len(server.asked) == 4
    server.answers["/file.bz2"] = [Answer(status=429, headers={"Retry-After": "7200"})]
    with pytest.raises(EaseError, match="429 Too Many Requests, retry after 7200 s"):
        download(file, client)
    assert_fetched(file, client)
    assert server.ranges("/file.bz2")[-1] == "bytes=100000-"


@pytest.mark.parametrize("wrong", [CONTENT[:-1] + b"?", CONTENT + b"?"], ids=["content", "size"])
def test_a_wrong_file_is_downloaded_again(server: FileServer, client: Client, file: RemoteFile, wrong: bytes) -> None:
    found, expected = hashlib.sha1(wrong).hexdigest(), file.checksums["sha1"]
    words = "has 700001 bytes, but should have 700000"
    if len(wrong) == len(CONTENT):
        words = f"has the sha1 {found}, but should have {expected}"
    server.answers["/file.bz2"] = [Answer(body=wrong)]
    assert_fetched(file, client)
    assert server.ranges("/file.bz2") == [None, None]
    file.path.unlink()
    server.always = Answer(body=wrong)
    with pytest.raises(EaseError, match=rf"file\.bz2 is wrong, twice: what the server sends {words}"):
        download(file, client)
    assert len(server.asked) == 4
    assert list(file.path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=404), "file.bz2 does not exist: the server answers 404 Not Found"),
        (Answer(status=403), "403 Forbidden. .* programs without a `contact`"),
        (Answer(headers={"Content-Type": "text/html; charset=utf-8"}), "answers with a web page instead"),
    ],
)
def test_permanent_errors_raise(server: FileServer, client: Client, tmp_path: Path, answer: Answer, words: str) -> None:
    server.answers["/file.bz2"] = [answer]
    file = RemoteFile(f"{server.address}/file.bz2", tmp_path / "new" / "file.bz2")
    with pytest.raises(EaseError, match=words):
        download(file, client)
    assert len(server.asked) == 1
    assert list(file.path.parent.iterdir()) == []


def test_an_unreachable_host_is_named(tmp_path: Path) -> None:
    with running_server() as gone:
        address = gone.address
    files = [RemoteFile(f"{address}/{number}", tmp_path / str(number)) for number in range(5)]
    with Client(QUICK) as client:
        with pytest.raises(downloads.Unreachable, match=r"the last of 3 attempts in a row\. Is this machine on the"):
            download(files[0], client)
        with pytest.raises(EaseError, match=r"Is this machine on the network.* \(2 more errors like these\.\)"):
            download_all(files, client)


def test_too_small_a_disk_is_reported(server: FileServer, client: Client, file: RemoteFile, tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    large = RemoteFile(file.url, tmp_path / "new" / "large", size=10 * free)
    with pytest.raises(EaseError, match=r"disk of .* has \d+\.\d GB free, and \d+\.\d GB are needed"):
        download_all([large, file], client)
    assert server.asked == []
    server.answers["/file.bz2"] = [Answer(promised=10 * free)]
    with pytest.raises(EaseError, match="GB are needed"):
        download(RemoteFile(file.url, tmp_path / "of-unknown-size"), client)
    assert not list(tmp_path.glob("*of-unknown-size"))


def test_downloads_are_limited_and_errors_stop_no_other(server: FileServer, client: Client, tmp_path: Path) -> None:
    server.always = Answer(pause=0.05)
    server.files |= {f"/{number}": CONTENT[: 150_000 + number] for number in range(6)}
    files = [RemoteFile(f"{server.address}/{number}", tmp_path / str(number)) for number in range(8)]
    (tmp_path / "0").write_bytes(b"there already, and of no known checksum")
    with pytest.raises(EaseError, match=r"/6 does not exist.*/7 does not exist"):
        download_all(files, client)
    assert server.most_at_once == 3
    fetched = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert fetched.pop("0").startswith(b"there already")
    assert fetched == {str(number): CONTENT[: 150_000 + number] for number in range(1, 6)}
    assert download_all(files[:6], client) == 0


def test_a_redirect_from_https_to_http_is_refused(
    server: FileServer, file: RemoteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "certificate.pem"
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *name, "-keyout", "-"]
    own.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.load_cert_chain(own)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(own))
    with running_server(certificate) as secure, Client(QUICK) as client:
        secure.files["/file.bz2"] = CONTENT
        there = replace(file, url=f"https://127.0.0.1:{secure.port}/file.bz2")
        assert download(there, client)
        file.path.unlink()
        secure.answers["/file.bz2"] = [Answer(status=302, headers={"Location": file.url})]
        with pytest.raises(EaseError, match=f"redirected from HTTPS to {file.url}, .*refused"):
            download(there, client)
    assert not file.path.exists()


def test_a_body_of_unstated_size_is_limited(
    server: FileServer, client: Client, file: RemoteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always = Answer(body=CONTENT * 20, promised=-1)
    monkeypatch.setattr("ease.io.downloads._MAX_UNANNOUNCED_BYTES", len(CONTENT))
    with pytest.raises(EaseError, match="more than 0 GB, and its size is neither known nor stated"):
        download(replace(file, checksums={}, size=None), client)
    assert list(file.path.parent.iterdir()) == []


FETCH = """
import signal, sys
from pathlib import Path
from ease.io.downloads import Client, DownloadOptions, RemoteFile, download_all
# A process that a shell starts in the background ignores SIGINT, and the tests may run in one.
signal.signal(signal.SIGINT, signal.default_int_handler)
url, path, sha1 = sys.argv[1:]
with Client(DownloadOptions()) as client:
    download_all([RemoteFile(url, Path(path), {"sha1": sha1})], client)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_killed_downloads_resume(server: FileServer, client: Client, file: RemoteFile, end: signal.Signals) -> None:
    server.answers["/file.bz2"] = [Answer(pause=0.3)]
    given = [file.url, str(file.path), file.checksums["sha1"]]
    process = subprocess.Popen([sys.executable, "-c", FETCH, *given], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (file.partial.exists() and file.partial.stat().st_size >= 1 << 17):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(end)
    assert process.wait(timeout=20) != 0
    kept = file.partial.stat().st_size
    assert not file.path.exists()
    assert json.loads(file.validator_file.read_text())["url"] == file.url
    assert 1 << 17 <= kept < len(CONTENT)
    assert_fetched(file, client)
    assert server.ranges("/file.bz2")[-1] == f"bytes={kept}-"


def test_two_processes_do_not_write_one_file(server: FileServer, client: Client, file: RemoteFile) -> None:
    file.partial.parent.mkdir()
    file.partial.write_bytes(CONTENT[:1000])
    with file.partial.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(EaseError, match=r"Another process is fetching .*file\.bz2: wait for it, or stop it"):
            download(file, client)
    assert file.partial.read_bytes() == CONTENT[:1000]
    assert server.asked == []
    assert_fetched(file, client)


def test_a_stopped_client_ends_within_a_pause(server: FileServer, file: RemoteFile) -> None:
    server.always = Answer(status=503)
    with Client(DownloadOptions(first_pause=30)) as patient:
        threading.Timer(0.3, patient.stop.set).start()
        start = time.monotonic()
        with pytest.raises(Stopped):
            download(file, patient)
        assert time.monotonic() - start < 25


def test_reads_a_text_and_a_size(server: FileServer, client: Client) -> None:
    server.files["/sums.txt"] = "ä 1\n".encode()
    server.answers["/sums.txt"] = [Answer(status=502), Answer(break_after=2)]
    assert client.text(f"{server.address}/sums.txt") == "ä 1\n"
    assert len(server.asked) == 3
    assert client.size(f"{server.address}/file.bz2") == len(CONTENT)
    with pytest.raises(NotFound, match="/none does not exist: the server answers 404"):
        client.text(f"{server.address}/none")
    with pytest.raises(NotFound):
        client.size(f"{server.address}/none")
