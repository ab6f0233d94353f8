"""Dumps, parts and tables at remote addresses, on a server of S3's protocol."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kedro.io import DatasetError, Version
from s3fs.core import S3File
from upath import UPath

from ease.datasets.tables import PartsDataset, TableDataset
from ease.errors import EaseError
from ease.io.addresses import address_of, as_remote, located, upload
from ease.io.atomic import write_text_atomically
from ease.io.parquet import read_parquet
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.wikipedia import WikipediaParts, ingest_wikipedia
from tests.s3 import Bucket, make_bucket, refusing, start_s3_server
from tests.wikimedia.made_dumps import TAIL, article, as_dump, as_streams, made, make_export

__all__ = ["make_bucket", "refusing", "start_s3_server"]

DUCKDB = {"backend": "duckdb", "database": ":memory:"}
SMALL_SHARDS = IngestOptions(workers=1, splitter="icu", bytes_per_shard=500)


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """A folder with a multistream dump of twelve articles, and another language's."""
    head = make_export([]).removesuffix(TAIL).encode()
    pages = [article(number).encode() for number in range(1, 13)]
    path = tmp_path / "dumps/20240101/enwiki-20240101-pages-articles-multistream.xml.bz2"
    as_dump(path, as_streams([head, *pages, TAIL.encode()]))
    made(tmp_path / "dumps", article(30), language="de", name="20240101")
    return tmp_path / "dumps"


def tables(parts: WikipediaParts) -> list[list[dict[str, Any]]]:
    connection = ibis.duckdb.connect()
    return [read_parquet(connection, files).to_pyarrow().to_pylist() for files in parts[:3]]


def test_dumps_and_parts_in_a_bucket_give_the_rows_of_a_folder(bucket: Bucket, dumps: Path, tmp_path: Path) -> None:
    # A second file, with an article of the first, whose parts are written again without it.
    second = made(dumps / "20240101", article(3), article(20), name="20240101").path
    second.rename(second.with_name("enwiki-20240101-extra-pages-articles.xml"))
    here = ingest_wikipedia(find_dumps(dumps, ["en", "de"]), SMALL_SHARDS, tmp_path / "parts")
    found = find_dumps(bucket.put(dumps, "dumps"), ["en", "de"])
    there = ingest_wikipedia(found, SMALL_SHARDS, located(f"{bucket.address}/parts"))
    assert tables(there) == tables(here)
    assert len(there.sentences) == len(here.sentences) > 5
    assert there.counts == here.counts
    assert here.counts["en"]["skipped"]["repeated"] == 1
    assert address_of(there.sentences[0]).startswith("s3://ease/parts/en/")


def test_dumps_are_found_by_folder_glob_and_file_also_those_uploaded_later(bucket: Bucket, dumps: Path) -> None:
    name = "enwiki-20240101-pages-articles-multistream.xml.bz2"
    bucket.put(dumps, "dumps")
    for source in ("dumps/*/enwiki-*.bz2", f"dumps/20240101/{name}"):
        (dump,) = find_dumps(f"{bucket.address}/{source}", ["en"])
        assert address_of(dump.path) == f"s3://ease/dumps/20240101/{name}"
        assert (dump.language, dump.dump_date, dump.compression) == ("en", "20240101", "bz2")
    sources = [f"{bucket.address}/dumps", f"{bucket.address}/dumps/**/*.xml*"]
    assert [find_dumps(source, ["de"])[0].dump_date for source in sources] == ["20240101"] * 2
    other, german = fsspec.filesystem("s3", skip_instance_cache=True), next(dumps.rglob("dewiki-*"))
    other.put_file(str(german), f"{bucket.name}/dumps/dewiki-20250101-pages-articles.xml")
    assert [find_dumps(source, ["de"])[0].dump_date for source in sources] == ["20250101"] * 2


def test_a_remote_file_is_identified_by_its_content(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a")
    one, other = (located(bucket.put(tmp_path / "file", key)) for key in ("one", "other"))
    digest = content_digest(one)
    assert digest == content_digest(other)
    (tmp_path / "file").write_bytes(b"b")
    assert content_digest(located(bucket.put(tmp_path / "file", "one"))) != digest


BROKEN_OFF = """
import os, signal, sys
from ease.io import addresses
from ease.wikimedia.dumps import parts
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.wikipedia import ingest_wikipedia
options = parts.IngestOptions(workers=1, splitter="icu", bytes_per_shard=500)
number = 0
def upload(file, target):
    global number
    number += "/templates/" not in str(target)
    if number > 6:
        os.kill(os.getpid(), signal.SIGKILL)
    addresses.upload(file, target)
parts.upload = upload
ingest_wikipedia(find_dumps(sys.argv[1], ["en"]), options, addresses.located(sys.argv[2]))
"""


def test_a_partially_uploaded_part_is_made_again(bucket: Bucket, dumps: Path, tmp_path: Path) -> None:
    source, folder = bucket.put(dumps, "dumps"), f"{bucket.address}/parts"
    killed = subprocess.run([sys.executable, "-c", BROKEN_OFF, source, folder], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = [key for key in bucket.keys("parts") if "/templates/" not in key]
    assert len(left) == 6, "one part whole, two files of another"
    (whole,) = (f"ease/{key}" for key in left if key.endswith("/counts.json"))
    marked = bucket.files.cat_file(whole) + b"\n"
    bucket.files.pipe_file(whole, marked)
    for key in left:
        if whole.rpartition("/")[0] not in f"ease/{key}":
            bucket.files.pipe_file(f"ease/{key}", b"half")
    again = ingest_wikipedia(find_dumps(source, ["en"]), SMALL_SHARDS, located(folder))
    here = ingest_wikipedia(find_dumps(dumps, ["en"]), SMALL_SHARDS, tmp_path / "parts")
    assert tables(again) == tables(here)
    assert bucket.files.cat_file(whole) == marked, "the whole one is kept"


def table_at(address: str, kind: type[TableDataset] = TableDataset, **options: Any) -> TableDataset:
    return kind(filepath=address, connection=DUCKDB, version=Version(None, None), **options)


def test_a_table_is_saved_to_a_bucket_and_loaded(bucket: Bucket) -> None:
    address = f"s3a://{bucket.name}/t.parquet"  # the name of Spark's connector
    table = table_at(address)
    assert not table.exists()
    table.save(pd.DataFrame({"a": [1, 2]}))
    assert table_at(address).load().to_pandas()["a"].tolist() == [1, 2]
    later = table_at(address)
    later.save(pd.DataFrame({"a": [3]}))
    assert table.load().to_pandas()["a"].tolist() == [1, 2], "a run loads what it saved"
    assert table_at(address).load().to_pandas()["a"].tolist() == [3]
    (key, *_) = bucket.keys("t.parquet")
    assert key.endswith("/t.parquet")


def test_a_version_of_parts_is_a_list_of_them_or_a_table(bucket: Bucket, tmp_path: Path) -> None:
    files = []
    for number in (3, 1, 2):
        file = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"n": [number]}), file)
        files.append(located(bucket.put(file, f"parts/{file.name}")) if number > 1 else file)
    table_at(f"{bucket.address}/t", PartsDataset).save(files)
    assert [key.rpartition("/")[2] for key in bucket.keys("t")] == ["000001.parquet", "t"]
    table_at(str(tmp_path / "t"), PartsDataset).save(files)
    for place in (f"{bucket.address}/t", str(tmp_path / "t")):
        assert table_at(place, PartsDataset).load().to_pandas()["n"].tolist() == [3, 1, 2]
    table_at(f"{bucket.address}/t", PartsDataset).save(ibis.memtable({"a": [1, 2]}))
    loaded = table_at(f"{bucket.address}/t", PartsDataset)
    assert loaded.load().to_pandas()["a"].tolist() == [1, 2]
    assert loaded.preview()["data"] == [[1], [2]]


def test_a_folder_of_spark_is_a_version_once_it_has_the_success_file(bucket: Bucket, tmp_path: Path) -> None:
    """Spark writes a folder, its sign last."""
    version = "t.parquet/2026-01-01T00.00.00.000Z/t.parquet"
    for number in range(2):
        pq.write_table(pa.table({"n": [number]}), tmp_path / "f")
        bucket.put(tmp_path / "f", f"{version}/part-{number}.snappy.parquet")
    assert not table_at(f"{bucket.address}/t.parquet").exists()
    (tmp_path / "f").write_bytes(b"")
    bucket.put(tmp_path / "f", f"{version}/_SUCCESS")
    assert table_at(f"{bucket.address}/t.parquet").load().to_pandas()["n"].tolist() == [0, 1]


def test_duckdb_reads_the_ranges_that_it_needs(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(0).random((10, 400_000))
    columns = {f"c{number}": column for number, column in enumerate(numbers)}
    pq.write_table(pa.table(columns), tmp_path / "t", row_group_size=100_000)
    size = (tmp_path / "t").stat().st_size
    table = located(bucket.put(tmp_path / "t", "t.parquet"))
    fetched = []
    fetch = S3File._fetch_range

    def counting(file: S3File, start: int, end: int) -> bytes:
        fetched.append(end - start)
        return bytes(fetch(file, start, end))

    monkeypatch.setattr(S3File, "_fetch_range", counting)
    rows = read_parquet(ibis.duckdb.connect(), [table])
    assert rows.c3.sum().execute() == pytest.approx(numbers[3].sum())
    assert size / 10 < sum(fetched) < size / 5


def test_a_store_with_renaming_shows_complete_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, taken = located(f"memory://{tmp_path}/folder/file"), located(f"memory://{tmp_path}/folder/taken")
    store = as_remote(target).fs
    write_text_atomically(target, "a")
    (tmp_path / "other").write_text("b")
    upload(tmp_path / "other", target)
    assert store.cat_file(as_remote(target).path) == b"a", "what is there is kept"

    def refuse(aside: str, path: str) -> None:
        """HDFS refuses to rename onto a file that another run has just put there."""
        store.pipe_file(path, b"theirs")
        raise OSError("the name is taken")

    monkeypatch.setattr(store, "mv", refuse)
    upload(tmp_path / "other", taken)
    assert sorted(path.rpartition("/")[2] for path in store.find(str(tmp_path))) == ["file", "taken"]


@pytest.mark.parametrize("address", ["hdfs://node:8020/dumps/a b", "sftp://u@host:2222/x", "s3://b/x", "data/x"])
def test_an_address_survives_the_round_trip(address: str) -> None:
    path = UPath(address) if "://" in address else Path(address)
    assert address_of(path / "y") == f"{address}/y"
    assert located("file:///x") == Path("/x")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://ease/none", "s3://ease/none does not exist: set the source to a folder"),
        ("s3://no-such-bucket/*.bz2", "No file matches the glob s3://no-such-bucket/"),
        ("foo://ease", "foo://ease cannot be reached .*foo"),
        ("oss://ease/x", "oss://ease/x needs a package that is not installed: .*ossfs"),
    ],
)
def test_a_missing_address_is_reported(bucket: Bucket, address: str, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        find_dumps(address, ["en"])


def test_refused_credentials_are_reported(dumps: Path, refusing: Bucket) -> None:
    where = refusing.address
    with pytest.raises(EaseError, match="s3://ease/dumps cannot be reached .*: check .* credentials"):
        find_dumps(f"{where}/dumps", ["en"])
    with pytest.raises(EaseError, match=r"s3://ease/parts/\S* cannot be reached .* credentials"):
        ingest_wikipedia(find_dumps(dumps, ["en"]), SMALL_SHARDS, located(f"{where}/parts"))
    with pytest.raises(DatasetError, match=r"s3://ease/t\.parquet\S* cannot be reached .* credentials"):
        table_at(f"{where}/t.parquet", missing_ok=True).load()


def test_tables_that_cannot_be_saved_leave_nothing(bucket: Bucket) -> None:
    with pytest.raises(DatasetError, match="s3://none/t.parquet.* does not exist .*: check the address"):
        table_at("s3://none/t.parquet").save(pd.DataFrame({"a": [1]}))
    broken = ibis.memtable({"a": ["1", "no number"]}).mutate(a=ibis._.a.cast("int64"))
    with pytest.raises(DatasetError, match="no number"):
        table_at(f"{bucket.address}/t.parquet").save(broken)
    assert bucket.keys() == []
