"""Numbers that an argument may be, at both sides of each limit, by the function that looks at it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from calibrant.door import arguments as door
from calibrant.door.arguments import MOST_RESAMPLES
from calibrant.door.errors import InputError

INF, NAN, HUGE = math.inf, math.nan, 10**400
LEAST = 2.0 / (MOST_RESAMPLES + 1)  # of a band: half of the level in each tail, which the most resamples reach

TAKEN = [
    (door.positive, (0.5,), 0.5),
    (door.positive, (5e-324,), 5e-324),
    (door.positive, (Fraction(1, 2),), 0.5),
    (door.positive, (np.float32(0.5),), 0.5),
    (door.positive_integer, (1,), 1),
    (door.positive_integer, (np.int8(7),), 7),
    (door.whole_from, (3, 3), 3),
    (door.between, (0.25, 0.25, 0.75), 0.25),
    (door.fraction, (0.999999,), 0.999999),
    (door.fraction, (1e-9,), 1e-9),
    (door.fraction, (1e-100,), 1e-100),
    (door.power_of_two, (1, 1, 64), 1),
    (door.power_of_two, (2, 2, 64), 2),
    (door.power_of_two, (64, 2, 64), 64),
    (door.check_level, (0.5,), 0.5),
    (door.check_level, (0.3,), 0.3),
    (door.check_level, (1e-100,), 1e-100),
    (door.check_number, (1_000_000,), 1_000_000),
    (door.check_resamples, (19, 0.05), 19),  # p is at least 1 / 20
    (door.check_resamples, (2, 0.45), 2),
    (door.check_resamples, (1, 0.5), 1),
    (door.check_threshold, (0.5,), 0.5),
]
REFUSED = [
    *((door.positive, (each,), "it must be a positive, finite number") for each in (0, -1, INF, NAN, HUGE, "1", True)),
    *((door.positive_integer, (each,), "a whole number above zero") for each in (0, 1.0, None, True, "1")),
    *((door.whole_from, (each, 3), "it must be a whole number, 3 or more") for each in (2, 3.0)),
    *((door.between, (each, 0.25, 0.75), "it must lie between 0.25 and 0.75") for each in (0.24, 0.75, None, HUGE)),
    *((door.fraction, (each,), "it must lie strictly between 0 and 1") for each in (0.0, -0.5, "a", NAN)),
    *((door.fraction, (each,), "it must be at least 1e-100") for each in (9e-101, 1e-160, 5e-324)),
    (door.fraction, (1.0,), "it must lie strictly between 0 and 1; for 1% write 0.01"),
    (door.fraction, (5,), "it must lie strictly between 0 and 1; for 5% write 0.05"),
    (door.fraction, (99.5,), "it must lie strictly between 0 and 1; for 99.5% write 0.995"),
    *((door.power_of_two, (each, 2, 64), "a power of two from 2 to 64") for each in (1, 3, 6, 12, 63, 128, 4.0, -2)),
    (door.check_level, (0.6,), "it is alpha, the probability of error, at most 0.5. For 0.6 confidence pass 0.4"),
    (door.check_level, (0.501,), "at most 0.5. For 0.501 confidence pass 0.499"),
    (door.check_level, (95,), "at most 0.5. For 0.95 confidence pass 0.05"),
    (door.check_level, (1,), "it is alpha, the probability of error, at most 0.5"),
    (door.check_level, (40.0,), "it is alpha, the probability of error, at most 0.5"),
    *((door.check_level, (each,), "it must lie strictly between 0 and 1") for each in (0.0, 100.0, 110.0, None)),
    (door.check_level, (9e-101,), "it must be at least 1e-100"),
    (door.check_resamples, (18, 0.05), "at level 0.05 it must be at least 19"),
    (door.check_resamples, (1, 0.45), "at level 0.45 it must be at least 2"),
    (door.check_threshold, (1.0,), "it must lie strictly between 0 and 1; for 1% write 0.01"),
    (door.check_threshold, (0,), "it must lie strictly between 0 and 1"),
]
NAMED = {door.check_level: "level", door.check_resamples: "n_resamples", door.check_threshold: "threshold"}


@pytest.mark.parametrize(("look", "given", "number"), TAKEN)
def test_a_number_within_its_limits_is_taken(look, given, number):
    given = given if look in NAMED or look is door.check_number else (given[0], "x", *given[1:])
    found = look(*given)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(("look", "given", "allowed"), REFUSED)
def test_a_number_beyond_its_limits_is_refused_by_its_argument(look, given, allowed):
    given = given if look in NAMED else (given[0], "x", *given[1:])
    with pytest.raises(InputError) as refused:
        look(*given)
    assert refused.value.argument == NAMED.get(look, "x")
    assert refused.value.problem.startswith("is ")
    assert refused.value.allowed.endswith(allowed)


def test_as_many_resamples_as_fit_into_memory():
    with pytest.raises(InputError, match=r"n_resamples: is above 1,000,000; results of more are not kept in memory"):
        door.check_number(1_000_001)


def test_at_the_threshold_0_nothing_can_be_lost():
    for value in (0, 0.0, -0.0):
        with pytest.raises(InputError, match="threshold: is 0, where every row is acted on and nothing can be lost"):
            door.check_threshold(value)
    with pytest.raises(InputError, match=r"threshold: is 1\.0; "):
        door.check_threshold(1.0)


@pytest.mark.parametrize(
    ("level", "n_resamples", "argument"),
    [
        (0.05, 39, None),
        (0.05, 38, "n_resamples"),  # a tail of half the level: at least 1 / 0.025 - 1
        (0.3, 0, None),
        (0.3, 6, None),
        (0.3, 5, "n_resamples"),
        (1e-9, 0, None),  # no band
        (0.6, 0, "level"),
        (0.6, 99, "level"),
        (LEAST, MOST_RESAMPLES, None),
        (LEAST * (1.0 - 5e-7), MOST_RESAMPLES, "level"),
        (0.05, -1, "n_resamples"),
        (0.05, 99.0, "n_resamples"),
        (0.05, None, "n_resamples"),
    ],
)
def test_a_band_has_enough_resamples_for_half_its_level(level, n_resamples, argument):
    if argument is None:
        door.check_band(level, n_resamples)
    else:
        with pytest.raises(InputError) as refused:
            door.check_band(level, n_resamples)
        assert refused.value.argument == argument


def test_levels_too_small_for_any_band_are_told_so():
    with pytest.raises(InputError, match=r"level: is 1e-06; bands are drawn down to 2e-06 \(or with 0 resamples for"):
        door.check_band(1e-6, 999)
    with pytest.raises(InputError, match="n_resamples: is -1; it must be a whole number, 0 for no band"):
        door.check_band(0.05, -1)


def test_a_seed_is_a_whole_number_from_0():
    for seed in (0, 7, np.int64(3)):
        found, said = door.seeded(seed)
        assert said == seed
        assert found.random() == np.random.default_rng(int(seed)).random()
    assert door.seeded(None)[1] == 0
    own = np.random.default_rng(5)
    assert door.seeded(own) == (own, None)
    assert door.generator(own) is own
    assert door.generator(3).random() == np.random.default_rng(3).random()
    assert door.generator(None).random() != door.generator(None).random()
    for seed in (-1, 0.0, True, "0"):
        with pytest.raises(
            InputError, match=r"random_state: is .*; it must be a whole number from 0, a numpy Generator"
        ):
            door.seeded(seed)


@pytest.mark.parametrize(
    ("look", "value", "said"),
    [
        (door.text, None, None),
        (door.text, "a", None),
        (door.text, "", "is ''; it must be text, and not empty"),
        (door.text, 3, "is 3; it must be text, and not empty"),
        (door.text, "\ud800", "it must be text that UTF-8 can hold"),
        (door.texts, ["a", "b"], None),
        (door.texts, [], None),
        (door.texts, ["a", "a"], "names a column twice; name each once"),
        (door.texts, ["a", None], "is ''; it must be text, and not empty"),
        (door.check_letters, "\udfff", "it must be text that UTF-8 can hold"),
        (door.check_letters, 3, None),
        (door.check_letters, "\ue000\ud7ff", None),
        (door.flag, True, None),
        (door.flag, np.bool_(False), None),
        (door.flag, 1, "is 1; it must be True or False"),
        (lambda value, name: door.one_of(value, ("a", "b"), name), "b", None),
        (lambda value, name: door.one_of(value, ("a", "b"), name), "c", "is 'c'; it must be one of 'a', 'b'"),
        (lambda value, name: door.one_of(value, ("a", "b"), name), 1, "is 1; it must be one of 'a', 'b'"),
    ],
)
def test_words_and_flags(look, value, said):
    if said is None:
        assert look(value, "x") is None
    else:
        with pytest.raises(InputError) as refused:
            look(value, "x")
        assert str(refused.value).startswith("x: ")
        assert str(refused.value).endswith(said)


def test_a_time_limit_tells_when_it_is_up(monkeypatch):
    clock = [10.0]
    monkeypatch.setattr(door.time, "monotonic", lambda: clock[0])
    free, limit = door.TimeLimit(None), door.TimeLimit(2.0)
    assert (free.left, free.up, free.run(lambda a, b: a + b, 1, 2)) == (None, False, 3)
    clock[0] = 11.5
    assert (limit.left, limit.up, limit.stop.tolist()) == (0.5, False, [0])
    for clock[0] in (12.0, 99.0):
        assert (limit.left, limit.up, limit.stop.tolist()) == (0.0, True, [1])
    with pytest.raises(InputError, match="time_limit: is 0; "):
        door.TimeLimit(0)

    def fails():
        raise KeyError("a")

    with pytest.raises(KeyError):
        free.run(fails)
    assert free.stop.tolist() == [1]
