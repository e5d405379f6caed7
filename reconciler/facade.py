"""A package whose names are imported when they are first used: a command loads what it needs, and no more."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def on_demand(package: str, modules: Mapping[str, Collection[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``package``; ``modules`` are its modules by their names in it, each with what it exports.

    No module may be called as a name that is exported: importing it would put the module there.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
