"""Group configs: items of ``Groups`` documents."""

from typing import Final

from reconciler.edit.kinds.interface import Kind
from reconciler.edit.kinds.listed import ListedKind
from reconciler.edit.writing import Item, quoted
from reconciler.model import listed_kind
from reconciler.model.kinds.group_config import GroupConfig


def _named(config: GroupConfig) -> Item:
    return {"name": quoted(config.group)}


def _configs(config: GroupConfig) -> dict[str, str]:
    return {name: quoted(value) for name, value in config.values.items()}


_problem = listed_kind(GroupConfig).problem
KIND: Final[Kind] = ListedKind(GroupConfig, "Groups", "groups", "configs", _named, _configs, _problem)
