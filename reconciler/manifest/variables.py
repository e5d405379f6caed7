"""``${vars.name}`` in a text of a spec is the cluster's value, ``$${`` is ``${``. There is no other templating.

A text is filled once, and what results is checked as if somebody had written it. So a value can name something, and
cannot become a wildcard, another variable, or a role's parameter: those a reviewer has to see where they are used.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    quoted,
    text_trouble,
)
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL

#: The fields of a credential that refer to secrets, and the field that holds credentials by mechanism.
_REFERENCES: Final = frozenset({"password", "salt", "saltedPassword"})
_CREDENTIALS: Final = "mechanisms"
_CLIENTS: Final = (("spec", "client"), ("spec", "barrier", "client"))
#: Why a misplaced variable is none.
MISPLACED: Final = Trouble(
    Code.VARIABLE_FORM,
    "variables are not allowed here",
    "write it out: variables are allowed in the spec of kinds other than Cluster and Fleet, except in spec.clusters",
)
#: Quotes and operators of a value would be taken for code, which no check of the result could tell.
_IN_CODE: Final = Trouble(
    Code.VARIABLE_FORM,
    "a variable inside a condition or a regular expression would be read as code",
    "write it out, or make the whole value a variable",
)
_VARIABLE = re.compile(r"\$\{vars\.(?P<name>[A-Za-z0-9_.-]+)\}", re.ASCII)
_PART = re.compile(rf"(?P<escape>\$\$\{{)|{_VARIABLE.pattern}|(?P<other>\$\{{)", re.ASCII)
#: What filling in may add to the texts of one cluster: as much as a file may have. Without a limit a short document
#: would multiply one long value to more than any machine holds.
MAX_FILLED: Final = 32 * 1024 * 1024


def variable_scalars(
    node: Node | None, fields: Collection[str] | None = None, below: tuple[str, ...] = ()
) -> Iterator[ScalarNode]:
    """Every scalar below ``node`` that holds ``${``; with ``fields``, only those that are the value of such a key.

    References to secrets are left out; ``below`` are the two keys above ``node``.
    """
    if isinstance(node, ScalarNode):
        if fields is None and "${" in node.plain:
            yield node
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from variable_scalars(item, fields)
    elif node is not None:
        for key, value in node.values.items():
            if not _is_reference(below, key):
                inside = None if fields is not None and key in fields else fields
                yield from variable_scalars(value, inside, (*below[-1:], key))


def _is_reference(below: tuple[str, ...], key: str) -> bool:
    """Whether a field is passed on as it is. No message may quote it: it may be a password by mistake."""
    return key in _REFERENCES and below[:1] == (_CREDENTIALS,)


def _variable_keys(node: Node | None) -> Iterator[ScalarNode]:
    """Every key that holds ``${``: a field's name is never filled in."""
    if isinstance(node, MappingNode):
        yield from (key for text, key in node.keys.items() if "${" in text)
    below = node.values.values() if isinstance(node, MappingNode) else getattr(node, "items", ())
    for item in below:
        yield from _variable_keys(item)


def form_problems(spec: Node | None, code_fields: Collection[str]) -> Iterator[tuple[Trouble, ScalarNode]]:
    """What is wrong with variables before any value is known."""
    for scalar in variable_scalars(spec):
        if any(match["other"] for match in _PART.finditer(scalar.plain)):
            advice = "write ${vars.name} for a value of the cluster, or $${ for the characters ${"
            yield (
                Trouble(Code.VARIABLE_FORM, f"{quoted(scalar.plain)} has a ${{ that is not a variable", advice),
                scalar,
            )
    for scalar in variable_scalars(spec, code_fields):
        if _names(scalar.plain) and not _VARIABLE.fullmatch(scalar.plain):
            yield _IN_CODE, scalar


def _names(text: str) -> list[str]:
    """The variables in a text, in order."""
    return [match["name"] for match in _PART.finditer(text) if match["name"]]


def misplaced(root: MappingNode, *, takes_variables: bool) -> Iterator[ScalarNode]:
    """Every scalar that holds ``${`` where nothing is filled in, so that it would be taken letter by letter.

    That is what says which document it is and for which clusters, the names of fields, and all of a ``Cluster`` and a
    ``Fleet`` but client settings, which name secrets that way.
    """
    yield from _variable_keys(root)
    yield from variable_scalars(root.get("metadata"))
    if takes_variables:
        yield from variable_scalars(root.get("spec", "clusters"))
        return
    settings = {id(scalar) for path in _CLIENTS for scalar in variable_scalars(root.get(*path))}
    yield from (scalar for scalar in variable_scalars(root.get("spec")) if id(scalar) not in settings)


class Variables:
    """The variables of one cluster, for all its documents."""

    def __init__(self, cluster: ClusterDeclaration) -> None:
        """Nothing is filled in yet."""
        self._cluster, self._values, self._origins = cluster.name, cluster.vars, cluster.var_origins
        self._origin = cluster.origin
        self._room = MAX_FILLED

    def filled(self, root: MappingNode, findings: Findings) -> MappingNode:
        """A copy of a document with its spec filled in; what cannot be is reported.

        ``findings`` then knows where the values come from, so that a problem names that place too.
        """
        spec = {key: self._node(item, findings) if key == "spec" else item for key, item in root.values.items()}
        return _with_values(root, spec)

    def _node(self, node: Node, findings: Findings, below: tuple[str, ...] = ()) -> Node:
        if isinstance(node, ScalarNode):
            text = self._text(node, findings) if "${" in node.plain else node.plain
            return ScalarNode(text, node.line, node.column, node.length)
        if isinstance(node, SequenceNode):
            items = SequenceNode(node.line, node.column)
            items.items = [self._node(item, findings) for item in node.items]
            items.plain = [item.plain for item in items.items]
            return items
        return _with_values(
            node,
            {
                key: item if _is_reference(below, key) else self._node(item, findings, (*below[-1:], key))
                for key, item in node.values.items()
            },
        )

    def _text(self, node: ScalarNode, findings: Findings) -> str:
        """What a text becomes; as it is written, after reporting why it cannot be filled in."""
        names = _names(node.plain)
        # Where a value is missing, the place of the cluster that should set it.
        findings.relate(node, (self._origins.get(name, self._origin) for name in dict.fromkeys(names)))
        whole = _VARIABLE.fullmatch(node.plain) is not None
        counted = findings.is_full  # words for one more problem would be lost work
        troubles = (self._trouble(name, whole=whole, counted=counted) for name in dict.fromkeys(names))
        trouble = next(filter(None, troubles), None)
        if trouble is None and not whole:
            size = sum(len(self._values[name]) for name in names)
            trouble = _TOO_MUCH if size > self._room else None
            self._room -= 0 if trouble else size
        if trouble is None:
            text = _PART.sub(lambda match: self._values[match["name"]] if match["name"] else "${", node.plain)
            # Two texts that are fine each may compose to one that is not.
            trouble = _wildcard_trouble(text) if names else None
            trouble = trouble or (None if whole else text_trouble(text, escapes=True))
            if trouble is None:
                return text
        findings.add(trouble, node)
        return node.plain

    def _trouble(self, name: str, *, whole: bool, counted: bool) -> Trouble | None:
        """Why the value of a variable cannot be put into a text, or be all of it; no advice if it is only counted."""
        value = self._values.get(name)
        if value is None:
            candidates = () if counted else self._values
            advice = did_you_mean(name, candidates, f"add {name} to spec.vars of the cluster")
            return Trouble(Code.UNSET_VARIABLE, f"the cluster {self._cluster} does not set vars.{name}", advice)
        if whole:
            bad = "begins with '$'" if value.startswith("$") else ""
        elif not value:
            bad = "is empty"
        else:
            bad = next((f"holds {character!r}" for character in "*?$" if character in value), "")
        if not bad:
            return None
        message = f"vars.{name} of the cluster {self._cluster} {bad}, so that it cannot be put here"
        return Trouble(Code.VARIABLE_VALUE, message, "set another value, or write this text without the variable")


_TOO_MUCH: Final = Trouble(
    Code.VARIABLE_VALUE,
    f"the variables of this cluster add more than {MAX_FILLED // 1024 // 1024} MiB to its texts",
    "set shorter values",
)


def _wildcard_trouble(text: str) -> Trouble | None:
    if text not in (WILDCARD, WILDCARD_PRINCIPAL):
        return None
    return Trouble(Code.VARIABLE_VALUE, f"a variable makes this the wildcard {text}", f"write {text} where it is meant")


def _with_values(node: MappingNode, values: dict[str, Node]) -> MappingNode:
    copy = MappingNode(node.line, node.column)
    copy.keys, copy.values = node.keys, values
    copy.plain = {key: item.plain for key, item in values.items()}
    return copy
