"""``${vars.name}``: a whole scalar that takes the cluster's value. There is no other templating."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean

_CLIENTS: Final = (("spec", "client"), ("spec", "barrier", "client"))
#: Why a misplaced variable is none.
MISPLACED: Final = Trouble(
    Code.VARIABLE_FORM,
    "variables are not allowed here",
    "write it out: variables are allowed in the spec of kinds other than Cluster and Fleet, except in spec.clusters",
)
_VARIABLE = re.compile(r"\$\{vars\.([A-Za-z0-9_.-]+)\}", re.ASCII)


def variable_scalars(node: Node | None) -> Iterator[ScalarNode]:
    """Every scalar below ``node`` that holds ``${``."""
    if isinstance(node, ScalarNode):
        if "${" in node.plain:
            yield node
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from variable_scalars(item)
    elif node is not None:
        for value in node.values.values():
            yield from variable_scalars(value)


def form_problem(text: str) -> Trouble | None:
    """Why a scalar with ``${`` in it is not a variable; ``None`` if it is one."""
    if _VARIABLE.fullmatch(text):
        return None
    return Trouble(
        Code.VARIABLE_FORM,
        f"{quoted(text)} is not a variable",
        "a variable is a whole value, ${vars.name}; nothing else is put into texts",
    )


def misplaced(root: MappingNode, *, takes_variables: bool) -> Iterator[ScalarNode]:
    """Every scalar that holds ``${`` where nothing is filled in, so that it would be taken letter by letter.

    That is what says which document it is and for which clusters, and all of a ``Cluster`` and a ``Fleet`` but client
    settings, which name secrets that way.
    """
    yield from variable_scalars(root.get("metadata"))
    if takes_variables:
        yield from variable_scalars(root.get("spec", "clusters"))
        return
    settings = {id(scalar) for path in _CLIENTS for scalar in variable_scalars(root.get(*path))}
    yield from (scalar for scalar in variable_scalars(root.get("spec")) if id(scalar) not in settings)


def substitute(root: MappingNode, values: Mapping[str, str], cluster: str, findings: Findings) -> MappingNode:
    """A copy of a document with the variables of its spec filled in; those that are not set are reported."""

    def fill(node: Node) -> Node:
        if isinstance(node, ScalarNode):
            return ScalarNode(value(node), node.line, node.column, node.length)
        if isinstance(node, SequenceNode):
            items = SequenceNode(node.line, node.column)
            items.items = [fill(item) for item in node.items]
            items.plain = [item.plain for item in items.items]
            return items
        return mapping(node, {key: fill(item) for key, item in node.values.items()})

    def value(node: ScalarNode) -> str:
        found = _VARIABLE.fullmatch(node.plain)
        if found is None or found[1] in values:
            return values[found[1]] if found else node.plain
        advice = did_you_mean(found[1], values, f"add {found[1]} to spec.vars of the cluster")
        message = f"the cluster {cluster} does not set vars.{found[1]}"
        findings.add(Trouble(Code.UNSET_VARIABLE, message, advice), node)
        return node.plain

    def mapping(node: MappingNode, filled: dict[str, Node]) -> MappingNode:
        copy = MappingNode(node.line, node.column)
        copy.keys, copy.values = node.keys, filled
        copy.plain = {key: item.plain for key, item in filled.items()}
        return copy

    return mapping(root, {key: fill(item) if key == "spec" else item for key, item in root.values.items()})
