"""Each format is known by endings of its own, and damaged files of each are tried."""

import pytest

from calibrant.door.errors import FileError
from calibrant.tables.formats.base import ENDINGS
from calibrant.tables.formats.registry import FORMATS, format_of, format_of_all
from tests.damage import NAMES


def test_no_ending_is_that_of_two_formats():
    endings = [ending for each in FORMATS for ending in each.endings]
    assert len(set(endings)) == len(endings)
    assert not {*endings} & {*ENDINGS}


@pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.name)
def test_a_format_is_known_by_each_ending_and_damaged_in_tests(each):
    for ending in each.endings:
        for name in (f"rows{ending}", f"ROWS{ending.upper()}", f"a.b{ending}.gz"):
            assert format_of(name) is each
            assert format_of_all([name], name) is each
    assert any(format_of(name) is each for name in NAMES)


def test_what_has_no_known_ending_is_refused_with_all_that_are_known():
    assert format_of("rows.gz") is None
    with pytest.raises(FileError) as refused:
        format_of_all(["rows.xlsx"], "rows.xlsx")
    assert all(ending in str(refused.value) for each in FORMATS for ending in each.endings)
