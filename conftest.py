"""What holds for every test, and modules that are not collected because their library is not installed."""

import os
from importlib.util import find_spec

# Two workers on two processors: matrix libraries that each start as many threads wait for each other, which takes
# twenty times as long as the work. It is read when NumPy is first imported; commands that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

collect_ignore = [] if find_spec("torch") else ["src/calibrant/torch.py"]
