"""Every public name of the house, whichever namespace it stands in."""

from importlib import import_module
from inspect import isclass, isfunction

from calibrant.public_names import MODULE_OF

PUBLIC = {name: getattr(import_module(f"calibrant.{home}"), name) for name, home in MODULE_OF.items()}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if isfunction(value)}
CLASSES = {name: value for name, value in PUBLIC.items() if isclass(value)}


def of_room(room, kind=PUBLIC):
    """The names of one room."""
    return {name: value for name, value in kind.items() if MODULE_OF[name].startswith(f"{room}.")}
