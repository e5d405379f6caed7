"""Calls of Kafka's tools in YAML: what containers of a Kubernetes workload run, and calls that stand anywhere else.

Source: Kubernetes' ``Container``: ``command`` replaces the image's entrypoint, ``args`` follow it, and ``$(NAME)`` in
either is a variable of the container.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from reconciler.parts.convert.shell import Word
from reconciler.parts.convert.tree import Tree

#: A call that changes something, in a text of one line or many.
CALL: Final = re.compile(
    r"\bkafka-(?:acls|topics|configs)(?:\.sh|\.bat)?\b(?:[^\n]|\\\n)*--(?:add|create|alter|allow-principal|deny-principal)\b"
    r"|\bconfluent\b[^\n]*\brole-binding\b"
)
#: Where each kind of workload has its pods.
_PODS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(("Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("spec", "template", "spec")),
}
_SUSPENDED: Final = "it is suspended, or has no replicas: it does not run"
_ENTRYPOINT: Final = "it has args and no command: which program gets them, the image decides"
_VARIABLE: Final = "a variable of the container"
#: Fields of a mapping that make a pod or a container what it is.
_CONTAINERS: Final = ("initContainers", "containers")


class ContainerCall(NamedTuple):
    """What one container runs, with its place; ``doubt`` says why it may not."""

    where: str
    words: tuple[Word, ...]
    doubt: str | None


def calls_tools(tree: Tree) -> bool:
    """Whether something below may call one of Kafka's tools to change something."""
    return next(_calls(tree), None) is not None


def container_calls(tree: Tree) -> list[ContainerCall]:
    """What the containers of a workload run, in order; none of a document that is no workload."""
    path = _PODS.get(tree.text("kind") or "") if tree.is_mapping() else None
    if path is None:
        return []
    stopped = tree.get("spec").flag("suspend") or tree.text("spec", "replicas") == "0"
    found = []
    for field in _CONTAINERS:
        for container in tree.items(*path, field):
            command, args = (container.get(name) for name in ("command", "args"))
            texts = [*command.texts(), *args.texts()]
            doubt = _SUSPENDED if stopped else _ENTRYPOINT if args.value and not command.value else None
            if CALL.search(" ".join(texts)):
                found.append(ContainerCall(container.where, tuple(map(_word, texts)), doubt))
    return found


def calls_elsewhere(tree: Tree) -> list[tuple[str, str]]:
    """Place and text of each call that no container of a workload runs."""
    read = {text for call in container_calls(tree) for text in (word.text for word in call.words)}
    return [(where, text) for where, text, parts in _calls(tree) if not read.issuperset(parts)]


def _word(text: str) -> Word:
    return Word(text, _VARIABLE if "$(" in text else None)


def _calls(tree: Tree) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Place, text and parts of each call below: in one text, or in the texts of a list."""
    open_trees, seen = [tree], set[int]()
    while open_trees:
        node = open_trees.pop()
        if isinstance(node.value, str):
            if CALL.search(node.value):
                yield node.where, node.value, (node.value,)
        elif node.value is not None and id(node.value) not in seen:
            seen.add(id(node.value))
            children = node.value.values() if isinstance(node.value, Mapping) else node.value
            texts = tuple(child.value for child in children if isinstance(child.value, str))
            if (
                not isinstance(node.value, Mapping)
                and not any(map(CALL.search, texts))
                and CALL.search(" ".join(texts))
            ):
                yield node.where, " ".join(texts), texts
            open_trees += reversed(list(children))
