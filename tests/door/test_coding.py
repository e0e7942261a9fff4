"""What values and segments are called: never two of them alike."""

from hypothesis import given
from hypothesis import strategies as st

from calibrant.door.coding import categories, equalities, key_in_words
from tests.strategies import examples

PIECES = [
    "x",
    " ",
    "'",
    '"',
    "\\",
    "a",
    "b",
    ", ",
    " = ",
    " and ",
    "a = ",
    "(missing)",
    "true",
    "\u00a0",
    "x" * 60,
    "...",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
KEYS = st.tuples(st.one_of(st.none(), TEXTS), st.one_of(st.none(), TEXTS))


@given(st.lists(TEXTS, min_size=2, max_size=8, unique=True))
@examples(1000)
def test_no_two_values_have_the_same_label(values):
    assert len(set(categories("t", values))) == len(values)


@given(KEYS, KEYS)
@examples(1000)
def test_no_two_keys_have_the_same_name(one, other):
    assert (equalities(("a", "b"), one) == equalities(("a", "b"), other)) == (one == other)
    assert (key_in_words(one) == key_in_words(other)) == (one == other)


def test_values_that_say_what_they_are_have_no_quotes():
    assert categories("t", ["Rue de l'Est", "a|b", "1 - 2"]) == ["t = Rue de l'Est", "t = a|b", "t = 1 - 2"]
    assert categories("t", [" x", "' x'", "a, b"]) == ["t = ' x'", "t = \"' x'\"", "t = 'a, b'"]
    assert equalities(("day", "ok"), (None, True)) == "day = (missing), ok = true"
