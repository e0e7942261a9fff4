"""Every reproduction runs, in small, and is written whole."""

import re
from pathlib import Path

import pytest

from calibrant import InputError, calibration_gate
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.synthetic import shifted_uniform
from calibrant_papers import processors, registry, verdicts
from calibrant_papers.nearly_linear_time import sparse_program
from tests.papers import small_pages
from tests.shared_data import FOLDER, needs_data

PAGES = Path(__file__).parents[2] / "docs" / "reproductions"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_pages.drawn(tmp_path_factory.mktemp("drawn"))


@pytest.mark.slow
def test_processes_give_results_in_the_order_of_the_cells():
    assert processors.on_all_processors(pow, [(2, n) for n in range(9)]) == [2**n for n in range(9)]


def test_a_page_counts_the_processors_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    done = registry.Reproduction("A title", "A finding.", "A body.", seconds=2.0)
    assert registry.page("power", done).endswith("`calibrant reproduce power`; 2 s on 1 processor.\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.experiments())
def test_small_versions_write_what_is_recorded(name, data, tmp_path):
    done, text = small_pages.small(name, data)
    assert small_pages.apart(small_pages.recorded(name), text) == []
    assert "fail" not in done.finding
    assert "wrongly" not in done.finding
    assert "| ---" in done.body
    written = registry.write(name, done, tmp_path)
    assert written[0].read_text().startswith(f"# {done.title}")
    assert (done.figure is None) == (len(written) == 1)


@pytest.mark.slow
def test_a_figure_is_drawn_again_to_the_byte(data, tmp_path):
    name = "unifying-theory-figure-2"
    first, again = (registry.write(name, small_pages.small(name, data)[0], tmp_path / each)[1] for each in "ab")
    assert first.read_bytes() == again.read_bytes()


def test_a_changed_number_is_seen_and_anothers_last_digit_is_not():
    record = small_pages.recorded("unifying-theory-lemmas")
    assert small_pages.apart(record, record) == []
    assert small_pages.apart("| 3 of 20 | 0.1234 | 5e-17 | -0.10 |", "| 3 of 20 | 0.1235 | 0.0 | -0.1 |") == []
    for now in ("4 of 20 | 0.1234", "3 of 20 | 0.1236", "3 of 20 | 0.1234 |", "3 of 20 | -0.1234"):
        assert small_pages.apart("3 of 20 | 0.1234", now) == ["- 3 of 20 | 0.1234", f"+ {now}"]
    rows = "0 of 4 rows\n| a | 1.25 |\n| b | 0.5 |\nThe end."
    longer = rows.replace("0 of 4", "0 of 5").replace("| b", "| new | 7 |\n| b")
    assert small_pages.apart(rows, longer) == ["- 0 of 4 rows", "+ 0 of 5 rows", "+ | new | 7 |"]  # no row that moved
    assert small_pages.apart("a\nb", "a") == ["- b"]
    assert "python -m tests.papers.small_pages new" in "\n".join(small_pages.apart(small_pages.recorded("new"), "a"))


def test_every_page_has_an_experiment_and_every_record_too():
    names = set(registry.experiments())
    assert {path.stem for path in PAGES.glob("*.md")} == names | {"index"}
    assert {path.stem for path in small_pages.RECORDS.glob("*")} == names


def test_names_and_folders_that_are_missing(tmp_path):
    with pytest.raises(InputError, match="name: is 'nothing'"):
        registry.reproduce("nothing")
    with pytest.raises(InputError, match="data: is needed"):
        registry.reproduce("tcal-table-1")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        registry.write("x", registry.Reproduction("t", "f", "b"), tmp_path / "file")


def test_the_linear_program_is_the_same_number():
    y_true, y_prob = shifted_uniform(300, 0.1, 0)
    assert sparse_program(y_true, y_prob) == pytest.approx(smooth_calibration_error(y_true, y_prob), abs=1e-9)


@pytest.mark.slow
def test_every_run_of_a_table_is_counted_not_the_best():
    done = registry.reproduce("nearly-linear-time-table-1", quick=True)
    counted = re.findall(r"\((\d)\)", done.body)
    assert counted
    assert set(counted) == {"1"}  # two runs that differ; nothing is shown of one alone
    low, high, median, runs = re.findall(r"(\d+) to (\d+) of .* \(median ([\d.]+) of (\d) runs\)", done.finding)[0]
    assert int(low) <= float(median) <= int(high)
    assert runs == "2"


@pytest.mark.slow
@needs_data
def test_verdicts_on_real_predictions():
    done = registry.reproduce("real-predictions", quick=True, data=FOLDER)
    assert done.finding == "At a limit of 0.05 the gate finds 0 within, 2 beyond, 1 undecided."
    assert "precip_niamey_2016, EPC" in done.body


@pytest.mark.slow
@needs_data
def test_the_gate_says_of_all_real_predictions_what_the_page_says():
    found = [calibration_gate(y, p, max_distance=0.05).verdict for _, y, p in verdicts._predictions(FOLDER)]
    said = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in ("within", "beyond", "undecided"))
    assert said == "4 within, 4 beyond, 5 undecided"
    assert f"**At a limit of 0.05 the gate finds {said}.**" in (PAGES / "real-predictions.md").read_text()
