"""What is said of a region where predictions err."""

import pytest

from calibrant.findings.regions import Region


def region(mean_error, standard_error):
    fields = dict.fromkeys(Region.__dataclass_fields__, 0.1) | {"n_rows": 10, "before": None, "after": None}
    return Region(**fields | {"mean_error": mean_error, "standard_error": standard_error})


@pytest.mark.parametrize(
    ("mean_error", "standard_error", "said"),
    [
        (0.12, 0.01, "12.0 standard errors, "),
        (-0.25, 0.1, "2.5 standard errors, "),
        (0.3, 1e-5, "3e+04 standard errors, "),
        (0.3, 0.0, "a calibrated predictor could not err here at all"),
    ],
)
def test_an_error_is_told_in_standard_errors_and_a_huge_one_by_its_size_alone(mean_error, standard_error, said):
    assert region(mean_error, standard_error).noise_in_words.startswith(said)


def test_of_event_rates_nothing_is_said_of_chance():
    assert region(0.1, None).noise_in_words is None
