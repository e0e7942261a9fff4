"""Spark and Dask with workers of their own, started and stopped here: the cells of the arrays, even if one dies."""

import os
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import audit_table, find_segments
from calibrant.segments.by_column import calibration_by_segment
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables import duckdb as duckdb_tables
from calibrant.tables import frames

for needed in ("dask.dataframe", "ibis"):
    pytest.importorskip(needed)
from tests.tables.test_frames import assert_same_cells, rows  # noqa: E402  # which makes frames of both

NAMES = {"y_true": "y", "y_prob": "p", "sample_weight": "w"}
pytestmark = pytest.mark.filterwarnings("ignore")  # what the engines and their clients say at start and stop


def table():
    y, p, w = rows(20_000)
    return pd.DataFrame({"y": y, "p": p, "w": w, "day": np.arange(20_000) % 5})


def children(of):
    """Processes below one, as (id, command line)."""
    listed = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    every = [line.split(None, 2) for line in listed.splitlines()[1:]]
    below, found = {of}, []
    for _ in range(5):
        new = [(int(pid), args) for pid, parent, args in every if int(parent) in below and int(pid) not in below]
        below |= {pid for pid, _ in new}
        found += new
    return found


@pytest.fixture(scope="module")
def dask_client(request):
    """One process beside this one; in the long run two, most of whose time is their start."""
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    import dask

    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),  # it looks at every worker 100 times a second
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=1 + thorough(request), processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_dask_with_workers_of_its_own(dask_client, request):
    dd = pytest.importorskip("dask.dataframe")
    data = table()
    frame = dd.from_pandas(data, npartitions=6)
    assert len(dask_client.scheduler_info()["workers"]) == 1 + thorough(request)
    wanted = CalibrationSketch().update(data.y, data.p, sample_weight=data.w)
    assert_same_cells(CalibrationSketch.from_frame(frame, **NAMES), wanted)
    here = calibration_by_segment(data, by=["day"], **NAMES)
    there = calibration_by_segment(frame, by=["day"], **NAMES)
    assert [(each.key, each.n_rows) for each in here] == [(each.key, each.n_rows) for each in there]
    assert_audited_there(frame, wanted, "Dask")


def assert_audited_there(frame, wanted, engine):
    found = audit_table(frame, **NAMES, n_resamples=0)
    assert found.road.startswith(f"{engine} summed 20,000 rows where they lie into {wanted.n_cells:,} cells")
    assert found.smooth_lower == pytest.approx(wanted.audit(n_resamples=0).smooth_lower, abs=1e-11)


def die_once(part, marker):
    """Kill the worker that gets here first."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return part
    os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.usefixtures("only_thorough", "dask_client")
def test_dask_goes_on_when_a_worker_is_killed(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    data = table()
    marker = tmp_path / "killed"
    frame = dd.from_pandas(data, npartitions=6).map_partitions(die_once, str(marker), meta=data.iloc[:0])
    found = CalibrationSketch.from_frame(frame, **NAMES)
    assert marker.exists()
    assert_same_cells(found, CalibrationSketch().update(data.y, data.p, sample_weight=data.w))


def thorough(request):
    return request.config.getoption("hypothesis_profile") == "thorough"


@pytest.fixture(scope="module")
def spark(request):
    """One thread; in the long run two executors, each a Java process of its own, most of whose time is its start."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    import pyspark

    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ["SPARK_SCALA_VERSION"] = "2.13"
    # Most of what Java does here in its few seconds is compiling itself: its plain compiler and collector take a part.
    os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = (
        SparkSession.builder.master("local-cluster[2,1,512]" if thorough(request) else "local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "512m")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")  # nor does it compile its plans
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # the next session needs a Java process of its own
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=600)
        SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="session")  # asked before Spark is started
def only_thorough(request):
    """For what takes an engine many seconds of a processor."""
    if not thorough(request):
        pytest.skip("takes long: pytest --hypothesis-profile thorough")


def on_spark(session, data, folder):
    data.to_parquet(folder / "rows.parquet")
    return session.read.parquet(str(folder / "rows.parquet")).repartition(6)


@pytest.mark.slow
def test_spark(spark, tmp_path):
    data = table()
    frame = on_spark(spark, data, tmp_path)
    wanted = CalibrationSketch().update(data.y, data.p, sample_weight=data.w)
    assert_same_cells(CalibrationSketch.from_frame(frame, **NAMES), wanted)
    here = calibration_by_segment(data, by=["day"], **NAMES)
    there = calibration_by_segment(frame, by=["day"], **NAMES)
    assert [(each.key, each.n_rows) for each in here] == [(each.key, each.n_rows) for each in there]
    assert_audited_there(frame, wanted, "Spark")


@pytest.mark.usefixtures("only_thorough")
def test_spark_finds_the_same_segments(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MANY_ROWS", 0)
    rng = np.random.default_rng(0)
    n = 4_000
    data = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], n), "x": rng.normal(size=n), "p": rng.random(n)})
    data["y"] = (rng.random(n) < np.where(data["kind"] == "b", data["p"] ** 2, data["p"])).astype(int)
    options = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "n_bins": 4}
    here = find_segments(pl.from_pandas(data).lazy(), **options)
    there = find_segments(on_spark(spark, data, tmp_path), **options)
    assert (here.features, here.summed) == (there.features, True)
    assert [each.name for each in here.segments] == [each.name for each in there.segments] == ["kind = b"]
    assert np.allclose(here.tested, there.tested, rtol=1e-6, atol=1e-12)


@pytest.mark.usefixtures("only_thorough")
def test_spark_goes_on_when_a_worker_process_is_killed(spark, tmp_path):
    data = table()
    frame = on_spark(spark, data, tmp_path)
    wanted = CalibrationSketch().update(data.y, data.p, sample_weight=data.w)
    assert frame.count() == len(data)  # both are up
    executors = [pid for pid, args in children(os.getpid()) if "CoarseGrainedExecutorBackend" in args]
    assert len(executors) == 2
    os.kill(executors[0], signal.SIGKILL)
    assert_same_cells(CalibrationSketch.from_frame(frame, **NAMES), wanted)


@pytest.mark.parametrize("little", [False, True])
def test_where_there_is_little_address_space_the_database_has_one_thread(monkeypatch, little):
    configured = []
    monkeypatch.setattr(duckdb_tables, "_little_address_space", lambda: little)
    monkeypatch.setattr(duckdb, "connect", lambda config: configured.append(config))
    duckdb_tables.connect()
    assert (configured[0].get("threads") == "1") == little
    assert configured[0]["autoinstall_known_extensions"] == "false"
