"""File systems of pyarrow by name, by address or as they are given."""

from __future__ import annotations

import os
from typing import Any

from calibrant.door.errors import InputError, Ways

_NAMES = ("local", "s3", "gcs")
_WAYS = Ways(
    "a FileSystem of pyarrow or fsspec, an address such as 's3://bucket', or one of " + ", ".join(_NAMES),
    "an address such as 's3://bucket', or one of " + ", ".join(_NAMES),
)
_PATIENCE = 15.0
"""Seconds for which a server may be silent."""


def filesystem_of(given: Any) -> Any:
    """The file system of pyarrow that is meant; keys and regions are taken from the environment, as pyarrow does.

    Raises
    ------
    InputError
        If it is none, or none of that name is known.
    """
    from pyarrow import fs

    if isinstance(given, fs.FileSystem):
        return given
    if any(
        each.__module__.startswith("fsspec") and each.__name__ == "AbstractFileSystem" for each in type(given).mro()
    ):
        return fs.PyFileSystem(fs.FSSpecHandler(given))
    if not isinstance(given, str):
        raise InputError("filesystem", f"is {given!r:.40}", allowed=_WAYS)
    try:
        return _by_address(given) if "://" in given else _by_name(given)
    except (OSError, ValueError, TypeError, NotImplementedError, ImportError, AttributeError) as problem:
        if isinstance(problem, InputError):
            raise
        # The address may hold a key: it is not repeated.
        said = str(problem).replace(given, "the address")
        raise InputError("filesystem", f"cannot be opened: {said:.200}", allowed=_WAYS) from None


def _by_name(name: str) -> Any:
    from pyarrow import fs

    if name == "local":
        return fs.LocalFileSystem()
    if name == "s3":
        # pyarrow takes the server's address from the environment for addresses, but not here.
        server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return fs.S3FileSystem(
            endpoint_override=server,
            connect_timeout=_PATIENCE,
            request_timeout=4.0 * _PATIENCE,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=3),
        )
    if name == "gcs":
        return fs.GcsFileSystem()
    raise InputError("filesystem", f"is {name!r:.40}, which is not known", allowed=_WAYS)


def _by_address(address: str) -> Any:
    from pyarrow import fs

    found, path = fs.FileSystem.from_uri(address)
    return fs.SubTreeFileSystem(path, found) if path.strip("/") else found
