"""Reading fitted recalibrators again, from text and from files."""

from __future__ import annotations

__all__ = ["from_json", "load"]

import json
import os
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError, InputError
from calibrant.recalibration.by_segment import estimator as estimator  # whose class is known once it is imported
from calibrant.recalibration.curves.base import maps
from calibrant.recalibration.serialization import LAYOUT, VERSION, read_content, sealed


def from_json(text: str) -> Any:
    """Make a fitted recalibrator again from what its `to_json` returned: it predicts the same to the last bit.

    No code in the text is run, and it is refused unless it is, byte for byte, what a recalibrator wrote.

    Parameters
    ----------
    text : str
        What `to_json` returned.

    Returns
    -------
    recalibrator
        Of the class that wrote it, fitted.

    Raises
    ------
    InputError
        If the text is damaged, cut, changed or reformatted, of a newer version or an unknown class, or holds values
        that no fit produces.

    Notes
    -----
    Cost: linear in the length of the text.

    Examples
    --------
    >>> from calibrant.recalibration import PlattScaling, from_json
    >>> platt = PlattScaling().fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> from_json(platt.to_json()).slope_ == platt.slope_
    True

    See Also
    --------
    load
    """
    if not isinstance(text, str):
        raise InputError("text", f"is a {type(text).__name__}; the text of to_json is needed")
    return _from_text(text, InputError, "text", "")


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted recalibrator from the file that its `save` wrote: it predicts the same to the last bit.

    Parameters
    ----------
    path : str or path
        What `save` was given.

    Returns
    -------
    recalibrator
        Of the class that wrote it, fitted.

    Raises
    ------
    FileError
        If the file cannot be read, or its text is refused as `from_json` refuses it.

    Notes
    -----
    Cost: linear in the length of the file.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from calibrant.recalibration import PlattScaling, load
    >>> platt = PlattScaling().fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     platt.save(os.path.join(folder, "platt.json"))
    ...     again = load(os.path.join(folder, "platt.json"))
    >>> again.predict([0.1, 0.9]).round(6).tolist()
    [0.333333, 0.666667]

    See Also
    --------
    from_json
    """
    try:
        target = Path(path)
    except TypeError:
        raise InputError("path", f"is {path!r:.40}; a file's path is needed") from None
    try:
        if target.exists() and not target.is_file():
            raise FileError("path", f"{str(path)!r} is not a plain file; name one that save wrote")
        data = target.read_bytes()
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "strerror", None) or problem
        raise FileError("path", f"{str(path)!r} cannot be read: {reason}") from None
    return _from_text(data.decode("ascii", "replace"), FileError, "path", f"{str(path)!r} ")


def _from_text(text: str, fail: type[InputError], argument: str, whose: str) -> Any:
    maps()  # whose classes are known by their names once they are imported
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise fail(argument, f"{whose}is not a saved recalibrator, or cut short: it is not JSON") from None
    if not isinstance(content, dict) or content.pop("layout", None) != LAYOUT:
        raise fail(argument, f"{whose}is not a saved recalibrator")
    version = content.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise fail(argument, f"{whose}has layout {version!r:.20}; this release of calibrant reads {VERSION}")
    content.pop("checksum", None)
    try:
        if sealed({"layout": LAYOUT, "version": version, **content}) != text:
            raise fail(
                argument, f"{whose}was damaged, changed or laid out anew since it was saved: its checksum differs"
            )
        return read_content(content, fitted=True)
    except RecursionError:
        raise fail(argument, f"{whose}is not a saved recalibrator: it is nested too deeply") from None
    except InputError as problem:
        if problem.argument == argument:
            raise
        reason = f"{problem.argument} {problem.problem}" + (f"; {problem.allowed}" if problem.allowed else "")
        raise fail(argument, f"{whose}holds what no fitted recalibrator does: {reason}") from None
