"""A state as a directory of manifests, with everything that it could not say."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.model import AclBinding, ClusterState, FrozenMap, OpaqueBinding, Topic, collision_key
from reconciler.report.export.acls import acls_document
from reconciler.report.export.expressible import binding_problem, topic_problem
from reconciler.report.export.file_names import file_stems
from reconciler.report.export.topics import topic_files
from reconciler.report.export.yaml_text import comment

#: Comments only: what belongs to no other file.
LEFT_FILE: Final = "not-exported.yaml"


@dataclass(frozen=True, slots=True)
class Export:
    """Texts by path (with ``/``), and what no manifest can say, each with its reason, in order.

    What is left is also written into the files, as comments; so are opaque entries, topics that could not be read
    and gaps of the reading.
    """

    files: Mapping[str, str] = field(default_factory=FrozenMap)
    left: tuple[tuple[AclBinding, str], ...] = ()
    left_topics: tuple[tuple[str, str], ...] = ()


def export_manifests(state: ClusterState, *, cluster: str = "", heading: str = "", roles: bool = True) -> Export:
    """The manifests of ``state``; ``cluster`` is its name, for the first line of each file, or ``heading`` is that.

    With ``roles``, built-in roles say what they say exactly.

    One file for each principal, ``acls/<name>.yaml``, and ``topics.yaml`` or ``topics/<prefix>.yaml``. Loading them
    gives all bindings but ``left`` and all topics but ``left_topics``.
    """
    expressible, left = _divided(state.bindings)
    topics, left_topics = _divided_topics(state.topics.values())
    stems = file_stems(expressible)
    head = [comment(heading or f"As found on {cluster or 'the cluster'} ({state.cluster_id}).")]
    files = {}
    left_of = _by_principal(left)
    for principal, bindings in expressible.items():
        own = [comment(text) for text in _left_lines(left_of.pop(principal, ()))]
        lines = acls_document(stems[principal], principal, bindings, roles=roles)
        files[f"acls/{stems[principal]}.yaml"] = [*head, *own, *lines]
    for path, lines in topic_files(topics).items():
        files[path] = [*head, *lines]
    rest = _rest(state, [item for items in left_of.values() for item in items], left_topics)
    if rest:
        files[LEFT_FILE] = [*head, *(comment(text) for text in rest)]
    texts = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
    return Export(FrozenMap(texts), tuple(left), tuple(left_topics))


def _divided(bindings: Iterable[AclBinding]) -> tuple[dict[str, list[AclBinding]], list[tuple[AclBinding, str]]]:
    """What can be said, by principal, and what is left."""
    expressible: dict[str, list[AclBinding]] = defaultdict(list)
    left = []
    for binding in sorted(bindings):
        problem = binding_problem(binding)
        if problem is None:
            expressible[binding.entry.principal].append(binding)
        else:
            left.append((binding, problem))
    return dict(sorted(expressible.items())), left


def _divided_topics(topics: Iterable[Topic]) -> tuple[list[Topic], list[tuple[str, str]]]:
    """Of topics whose names collide, which a broker can have and a manifest cannot, the first one is said."""
    expressible: dict[str, Topic] = {}
    left = []
    for topic in sorted(topics):
        key = collision_key(topic.name)
        problem = topic_problem(topic)
        if problem is None and key in expressible:
            problem = f"the name collides with {expressible[key].name}"
        if problem is None:
            expressible[key] = topic
        else:
            left.append((topic.name, problem))
    return list(expressible.values()), left


def _by_principal(left: Iterable[tuple[AclBinding, str]]) -> dict[str, list[tuple[AclBinding, str]]]:
    found: dict[str, list[tuple[AclBinding, str]]] = defaultdict(list)
    for item in left:
        found[item[0].entry.principal].append(item)
    return found


def _left_lines(left: Iterable[tuple[AclBinding, str]]) -> list[str]:
    lines = [f"  {binding}: {problem}" for binding, problem in left]
    return ["Live and not in this file, because no manifest can say it:", *lines] if lines else []


def _rest(
    state: ClusterState, left: Sequence[tuple[AclBinding, str]], left_topics: Sequence[tuple[str, str]]
) -> list[str]:
    lines = _left_lines(left)
    lines += [f"Topic {name}: {problem}" for name, problem in left_topics]
    lines += [f"Topic {name} could not be read: {problem}" for name, problem in state.unreadable_topics.items()]
    lines += [f"An ACL of a kind that the client cannot name: {_opaque(entry)}" for entry in state.opaque]
    gaps = {"ACLs": state.acl_gap, "topics": state.topic_gap}
    return lines + [f"The {what} may not be whole: {gap}" for what, gap in gaps.items() if gap is not None]


def _opaque(entry: OpaqueBinding) -> str:
    codes = (entry.resource_type, entry.pattern_type, entry.operation, entry.permission_type)
    shown = ", ".join("?" if code is None else str(code) for code in codes)
    return f"{entry.principal} from {entry.host} on {entry.name} (codes {shown})"
