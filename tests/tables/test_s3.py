"""A real server that speaks S3, on this machine: folders of Parquet and CSV there are tables like any other."""

import json
import socket
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pytest
from typer.testing import CliRunner

from calibrant import audit_table
from calibrant.cli.app import app
from calibrant.door.errors import FileError
from calibrant.tables.entry import open_table
from tests.tables.test_front_door import NAMES, answer, assert_same_answer, by_day

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    """Address of a server in a process of its own, which listens here and nowhere else."""
    for module in ("moto.server", "flask_cors"):
        if not find_spec(module.partition(".")[0]):
            pytest.skip("moto, whose server speaks S3, is not installed (pip install 'calibrant[test]')")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            while running.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            assert running.poll() is None
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


@pytest.fixture
def store(server, tmp_path, monkeypatch):
    """The file system, with the folders of `by_day` in a bucket, and the same rows as one table."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    there = pyarrow.fs.S3FileSystem(endpoint_override=server, allow_bucket_creation=True)
    there.create_dir("bucket")
    for ending in ("parquet", "csv"):
        folder, together = by_day(tmp_path / ending, ending)
        pyarrow.fs.copy_files(folder, f"bucket/{ending}", destination_filesystem=there)
    return there, together


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders_of_a_bucket_are_the_same_table(store, server, ending):
    there, together = store
    wanted = answer(together)
    scheme, address = server.split("://")
    roads = {
        "file system": (f"bucket/{ending}", there),
        "its name": (f"bucket/{ending}/**/*.{ending}", "s3"),
        "an address": (ending, f"s3://bucket?endpoint_override={address}&scheme={scheme}"),
    }
    for name, filesystem in roads.values():
        assert_same_answer(answer(name, filesystem=filesystem), wanted)
    hive = ds.partitioning(pa.schema([("day", pa.date32())]), flavor="hive")
    dataset = ds.dataset(f"bucket/{ending}", filesystem=there, format=ending, partitioning=hive)
    assert_same_answer(answer(dataset), wanted)
    read = open_table(f"bucket/{ending}", filesystem=there).read(**NAMES)
    assert np.array_equal(np.asarray(read.y_prob), together["p"].to_numpy())


@pytest.mark.usefixtures("store")
def test_the_commands_read_a_bucket(tmp_path):
    options = ["bucket/parquet", "--filesystem", "s3", "--y-true", "y", "--y-prob", "p"]
    done = CliRunner().invoke(app, ["audit", *options, "--resamples", "0", "--by", "day", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["n_rows"], found["title"]) == (800, "parquet")
    assert len(found["segments"]) == 3
    done = CliRunner().invoke(app, ["gate", *options, "--max-distance", "0.5"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["sketch", *options, "--by", "day", "-o", str(tmp_path / "days.parquet")])
    assert done.exit_code == 0, done.output
    assert audit_table(tmp_path / "days.parquet", by="day", n_resamples=0).n_rows == 800


def test_what_is_wrong_with_a_bucket_is_named(store, monkeypatch):
    there, _ = store
    for name, data in (("cut/a.parquet", b"PAR1 and half of it"), ("cut.csv/a.csv", b"y,p\n1,0.5\n0,0.")):
        with there.open_output_stream(f"bucket/{name}") as stream:
            stream.write(data)
    there.create_dir("bucket/empty")
    for name, message in (
        ("bucket/none", "'bucket/none' does not exist on the file system"),
        ("nobucket/none", "'nobucket/none'"),
        ("bucket/empty", "is a folder without files"),
        ("bucket/cut", "bucket/cut/a.parquet'"),
        ("bucket/cut.csv", "'bucket/cut.csv/a.csv' ends in the middle of a line"),
        ("bucket", "holds files of several kinds"),
    ):
        with pytest.raises(FileError) as caught:
            open_table(name, filesystem="s3").read(**NAMES)
        assert message in str(caught.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(FileError, match="'bucket/parquet' cannot be read"):
        open_table("bucket/parquet", filesystem="s3")
