"""Generated tables by every road: one number or one error. The long run is `tools/long_runs.py differential`."""

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

from tests.strategies import examples
from tests.tables.differential import ROADS, disagreements
from tests.tables.generated import generated

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.mark.slow
@pytest.mark.parametrize("roads", [list(ROADS)[at::5] for at in range(5)], ids=lambda roads: roads[0])
@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(table=generated())
def test_one_number_or_one_error_by_every_road(tmp_path, table, roads):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what narwhals says about versions to come
        assert not disagreements(table, tmp_path, roads)
