"""Every kernel, as plain Python, where indices are checked: columns out of order lead to none that is not there."""

import numpy as np
import pytest

from tests.kernels.test_every_kernel import ARGUMENTS, KERNELS, floats, plain, run  # noqa: F401  a fixture

# By kernel: a column that its callers make in order, whatever the input.
MADE = {"lower_lift.interpolate": "u"}  # the grid of the solver


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_columns_out_of_order(name):
    function = KERNELS[name]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for seed in range(2):
        for place, (argument, _) in enumerate(floats(ARGUMENTS[name](7), names)):
            arguments = ARGUMENTS[name](7)
            column = [array for _, array in floats(arguments, names)][place]
            order = np.random.default_rng(seed).permutation(column.size) if seed else np.arange(column.size)[::-1]
            column.flat[:] = column.flatten()[order]
            if argument != MADE.get(name):
                run(name, arguments)
