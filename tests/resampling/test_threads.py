"""Work beside the caller's: done once, by a thread or where it is asked for, and dropped where the caller fails."""

import threading

import numpy
import pytest
from threadpoolctl import threadpool_limits

from calibrant import threads as of_threads
from calibrant.threads import beside, one_ahead


def test_what_no_thread_has_begun_is_done_where_it_is_asked_for():
    go, here = threading.Event(), threading.current_thread()
    with beside() as threads:
        first = threads.submit(lambda: go.wait(60) and threading.current_thread())
        later = [threads.submit(lambda k: (k, threading.current_thread()), k) for k in range(3)]
        assert [job.result() for job in later] == [(k, here) for k in range(3)]
        go.set()
        assert first.result() is not here


def test_each_is_done_once_and_its_failure_is_told():
    done = []

    def fail(k):
        done.append(k)
        raise ValueError(k)

    with beside() as threads:
        jobs = [threads.submit(fail, k) for k in range(20)]
        for k in reversed(range(20)):
            with pytest.raises(ValueError, match=f"^{k}$"):
                jobs[k].result()
    assert sorted(done) == list(range(20))


def test_where_the_caller_fails_nothing_is_begun_any_more():
    go, begun = threading.Event(), []

    def fail():
        with beside() as threads:
            threads.submit(go.wait, 60)
            threads.submit(begun.append, 1)
            threading.Timer(0.05, go.set).start()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert begun == []


def test_what_is_made_ahead_comes_in_order_and_one_at_a_time():
    made = []

    def make(k):
        made.append(k)
        return k * k

    for k, square in enumerate(one_ahead(make, range(50))):
        assert square == k * k
        assert len(made) <= k + 2
    assert made == list(range(50))
    assert list(one_ahead(make, [])) == []


@pytest.mark.parametrize(("processors", "work", "calls"), [(1, 10**9, 1), (3, 10, 1), (3, 10**9, 12)])
def test_blocks_are_as_many_as_this_process_may_use_processors_for(monkeypatch, processors, work, calls):
    monkeypatch.setattr(of_threads.os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    done = []
    of_threads.in_blocks(lambda first, last: done.append((first, last)), 120, work=work, multiple=5)
    ends = sorted(done)
    assert len(ends) == calls
    assert [first for first, _ in ends] == [0, *[last for _, last in ends[:-1]]]
    assert ends[-1][1] == 120
    assert all(first % 5 == 0 for first, _ in ends)


def test_where_no_processors_are_set_aside_all_are_used(monkeypatch):
    monkeypatch.delattr(of_threads.os, "sched_getaffinity", raising=False)
    for processors, calls in ((3, 12), (None, 1)):
        monkeypatch.setattr(of_threads.os, "cpu_count", lambda processors=processors: processors)
        done = []
        of_threads.in_blocks(lambda _, last, done=done: done.append(last), 120, work=10**9, multiple=5)
        assert len(done) == calls


def test_the_matrix_library_has_one_thread_inside_and_as_many_as_before_outside():
    def now():
        return {each["num_threads"] for each in of_threads._matrix_library().info()}

    for before in (2, 3):
        with threadpool_limits(before, user_api="blas"):
            with of_threads.one_thread():
                assert now() == {1}
            assert now() == {before}


def test_no_memory_for_what_would_only_be_faster_is_no_fault(monkeypatch):
    asked = []

    def refuse(*size):
        asked.append(size)
        raise MemoryError

    monkeypatch.setattr(numpy, "empty", refuse)
    of_threads._keep_freed_memory.__wrapped__()
    assert len(asked) == 1
