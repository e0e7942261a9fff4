"""Plain tables and lines against rich's, which are an oracle here and no requirement of the library.

Where a word is wider than its line rich may begin the next line with the space after it: there letters are compared.
"""

import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from calibrant.report.text import Page, Table, _narrowed, wrapped
from tests.strategies import examples

LETTERS = st.sampled_from(["a", "b", "-", "é", "e\u0301", "宽", " ", " ", "[", "]", ":"])
WORDS = st.lists(LETTERS, max_size=20).map(lambda letters: " ".join("".join(letters).split()))


def rich_page(width, *parts):
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, color_system=None, highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n")[:-1])


def page(width, *parts):
    ours = Page(width)
    for part in parts:
        ours.print(part)
    return ours.text()


def same(ours, theirs, texts, width):
    """The same lines; where words are broken, the same letters in the same order."""
    if any(cell_len(word) > width for text in texts for word in text.split()):
        ours, theirs = (sorted("".join(each.split())) for each in (ours, theirs))
    assert ours == theirs


@examples(200)
@given(WORDS, st.integers(2, 40))
def test_lines_are_those_of_rich(text, width):
    same(page(width, text), rich_page(width, text), [text], width)


@examples(200)
@given(st.data(), st.integers(16, 60), st.booleans())
def test_tables_are_those_of_rich(data, width, head):
    columns = data.draw(st.integers(1, 4))
    rows = data.draw(st.lists(st.lists(WORDS, min_size=columns, max_size=columns), min_size=1, max_size=4))
    right = data.draw(st.sets(st.integers(0, columns - 1)))
    assume(any(cell.strip() for row in rows for cell in row))
    ours = Table(rows[0] if head else (), right=sorted(right))
    theirs = RichTable(box=None, show_header=head, padding=(0, 2, 0, 0))
    for k in range(columns):
        theirs.add_column(rows[0][k] if head else "", justify="right" if k in right else "left", overflow="fold")
    for row in rows[1:] if head else rows:
        ours.add_row(*row)
        theirs.add_row(*row)
    least = width // columns - 2  # no column is narrower, but one that needs no more
    same(page(width, ours), rich_page(width, theirs), [cell for row in rows for cell in row], least)


def test_no_letter_is_lost_where_the_page_is_narrow():
    assert wrapped("    audit = calibrant", 8) == ["    audi", "t =", "calibran", "t"]
    table = Table(("", "a long name", "another"), right=[1, 2])
    table.add_row("rows", "1,234,567", "12")
    letters = sorted("".join(table.lines(14)).replace(" ", ""))
    assert letters == sorted("alongnameanotherrows1,234,56712")


def test_a_bell_in_a_name_does_not_ring():
    assert page(20, "a\x07b\x08c") == "abc"


def test_columns_stand_under_one_another_where_each_has_one_letter():
    table = Table()
    table.add_row("ab", "uvwxyz")
    assert [(line[0], line[3]) for line in table.lines(6)] == [*zip("ab    ", "uvwxyz", strict=True)]


@pytest.mark.parametrize("most", range(13))
def test_the_widest_columns_are_taken_down_to_one_width(most):
    for widths in ([3, 3, 3], [5, 1, 4, 2], [12], [1, 1]):
        found = _narrowed(widths, most)
        assert sum(found) == min(sum(widths), most)
        cut = [k for k in range(len(widths)) if found[k] < widths[k]]
        assert max(found) - min((found[k] for k in cut), default=max(found)) <= 1
