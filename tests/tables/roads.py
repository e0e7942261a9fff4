"""What a file is asked, in one call each, for tests of one road."""

from types import SimpleNamespace

from calibrant.drift.periods import RESOLUTION, periods_of_groups
from calibrant.segments.by_column import RESOLUTION as OF_SEGMENTS
from calibrant.segments.by_column import segments_of_groups
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.entry import OpenedFile


def read_file(path, **asked):
    return OpenedFile(path).read(**asked)


def sketch_file(path, *, exclude_bad=False, **asked):
    file = OpenedFile(path)
    chosen = file.choose(**asked)
    groups = file.groups(chosen.names, (), 65536, exclude_bad=exclude_bad)
    sketch = CalibrationSketch.from_groups(groups, chosen.names, 65536)
    return SimpleNamespace(sketch=sketch, names=chosen.names, n_excluded=groups.n_excluded)


def file_by_segment(path, by, *, level=0.05, exclude_bad=False, **asked):
    file = OpenedFile(path)
    chosen = file.choose(**asked, grouped_by=by)
    return segments_of_groups(file.groups(chosen.names, by, OF_SEGMENTS, exclude_bad=exclude_bad), level)[0]


def file_drift(path, by, *, level=0.05, exclude_bad=False, **asked):
    file = OpenedFile(path)
    chosen = file.choose(**asked, grouped_by=[by])
    return periods_of_groups(
        file.groups(chosen.names, [by], RESOLUTION, exclude_bad=exclude_bad, option="drift"), level
    )
