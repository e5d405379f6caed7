"""Bindings that grant more than is usually meant, and names that a person takes for other names."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from reconciler.access.lint.rule import PRINCIPAL, LintFinding, LintState, lint_rule
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclOperation, PatternType, ResourceType
from reconciler.model.characters import as_name, look_alikes
from reconciler.model.characters import mixed_scripts as scripts_of

_O = AclOperation
_CHANGING: Final = frozenset({_O.WRITE, _O.DELETE, _O.ALTER, _O.ALTER_CONFIGS})
#: By these somebody logs in as the user, or as the owner of the token.
_AS_ANYBODY: Final = {
    ResourceType.USER: (_O.CREATE_TOKENS, _O.DESCRIBE_TOKENS),
    ResourceType.DELEGATION_TOKEN: (_O.DESCRIBE,),
}
_EVERY_USER: Final = "User:"
_OVER_CLUSTER: Final = {
    _O.ALTER_CONFIGS: "who may ALTER_CONFIGS on the cluster may add a listener on which it logs in as anybody",
    _O.CLUSTER_ACTION: "who has CLUSTER_ACTION on the cluster may ask a controller as anybody; brokers have it",
}
_DELIMITERS: Final = "._-:/"
_SHOWN: Final = 10


@lint_rule(
    "KA009",
    "warning",
    "`User:*` is granted something: everybody who can connect has it, now and later.",
    "Name the principals who need it.",
)
def everybody(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs of every principal."""
    for binding in state.allows:
        if binding.entry.principal == WILDCARD_PRINCIPAL:
            message = (
                f"everybody who can connect gets {binding.entry.operation.name}, "
                "principals of every type and ANONYMOUS included"
            )
            yield everybody.finding(binding, message, "name the principals who need it")


@lint_rule(
    "KA010",
    "warning",
    "WRITE, or another operation that changes something, on every name of a type, including names that do not exist "
    "yet.",
    "Name the resources, or a prefix.",
)
def wildcard_write(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs to change every resource of a type."""
    for binding in state.allows:
        operation = binding.entry.operation
        if binding.pattern.is_wildcard and operation in _CHANGING:
            message = f"{operation.name} on every {binding.pattern.resource_type.name}, also on those not yet created"
            yield wildcard_write.finding(binding, message, "name the resources, or a prefix")


@lint_rule(
    "KA022",
    "warning",
    "READ on every topic, or on every group: the records of all teams, also of topics that do not exist yet; and every "
    "consumer group, whose partitions and offsets it may take over. Super users need no ACL for it and are no "
    "findings.",
    "Name the topics and groups, or a prefix. Write an exception, with a reason, for a principal that is meant to copy "
    "or audit everything.",
    on_facts=True,
)
def wildcard_read(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs to read every topic, or to join every group."""
    supers = state.authorizer.super_users
    for binding in state.allows:
        kind, entry = binding.pattern.resource_type, binding.entry
        if not binding.pattern.is_wildcard or entry.operation is not _O.READ or entry.principal in supers:
            continue
        what = {
            ResourceType.TOPIC: "it reads the records of all teams, also on topics not yet created",
            ResourceType.GROUP: "it may join every consumer group and move its offsets",
        }.get(kind)
        if what is not None:
            message = f"{entry.operation.name} on every {kind.name}: {what}"
            advice = f"name the {kind.noun}s, or a prefix; if it is meant, write an exception with a reason"
            yield wildcard_read.finding(binding, message, advice)


@lint_rule(
    "KA025",
    "warning",
    "ALL on every name of a type: it reads and changes everything of all teams, also names that do not exist yet, and "
    "has every operation that a later release of Kafka adds. Or CREATE_TOKENS or DESCRIBE_TOKENS on every user, or "
    "DESCRIBE on every delegation token: it may log in as anybody.",
    "Name the operations and the resources, or a prefix.",
)
def everything(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs of every operation on every resource of a type, and of acting as every user."""
    for binding in state.allows:
        kind, operation = binding.pattern.resource_type, binding.entry.operation
        every, anybody = binding.pattern.is_wildcard, operation in _AS_ANYBODY.get(kind, ())
        if kind is ResourceType.USER and binding.pattern.pattern_type is PatternType.PREFIXED:
            every = _EVERY_USER.startswith(binding.pattern.name)
        if every and (anybody or operation is _O.ALL):
            message = f"{operation.name} on every {kind.name}, also on those not yet created"
            message += ", and operations of later releases" if operation is _O.ALL else ""
            message += ": it may log in as anybody" if kind in _AS_ANYBODY else ""
            yield everything.finding(binding, message, "name the operations and the resources, or a prefix")


@lint_rule(
    "KA011",
    "warning",
    "Who may ALTER the cluster may change every ACL, and so grant itself anything. Who may ALTER_CONFIGS on it may add "
    "a listener on which it logs in as anybody. Who has CLUSTER_ACTION on it, as brokers have, asks a controller as "
    "anybody.",
    "Keep it to those who administer the cluster; write an exception for brokers.",
)
def cluster_alter(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs to change ACLs, or the brokers' configs, or to ask as anybody; who may do several is told of once."""
    ours = [allow for allow in state.allows if allow.pattern.resource_type is ResourceType.CLUSTER]
    altering = [binding for binding in ours if binding.entry.operation in (_O.ALTER, _O.ALL)]
    reported = {item.entry[:2] for item in altering}
    advice = "keep this to those who administer the cluster"
    for binding in altering:
        message = "who may ALTER the cluster may change ACLs, and so grant itself anything"
        yield cluster_alter.finding(binding, message, advice)
    for operation, message in _OVER_CLUSTER.items():
        more = [item for item in ours if item.entry.operation is operation and item.entry[:2] not in reported]
        reported |= {item.entry[:2] for item in more}
        for binding in more:
            yield cluster_alter.finding(binding, message, advice)


@lint_rule(
    "KA012",
    "warning",
    "The prefix ends inside a word: `pay` matches `payroll` as well as `pay.in`. *Evidence:* the existing topics "
    "that it matches beyond the delimiter, where topics are known.",
    "End it with a delimiter.",
)
def open_prefix(state: LintState) -> Iterator[LintFinding]:
    """Prefixes that do not end with a delimiter."""
    topics = sorted(state.topics or ())
    for binding in state.allows:
        kind, name, pattern_type = binding.pattern
        if pattern_type is not PatternType.PREFIXED or name[-1] in _DELIMITERS or kind is ResourceType.CLUSTER:
            continue
        extra = islice(_longer_words(name, topics) if kind is ResourceType.TOPIC else (), _SHOWN)
        message = f"the prefix {name!r} ends inside a word: it matches {name}x as well as {name}.x"
        yield open_prefix.finding(binding, message, f"end it with a delimiter: {name}.", evidence=tuple(extra))


def _longer_words(prefix: str, topics: Sequence[str]) -> Iterator[str]:
    """The topics in which the word goes on where the prefix ends; ``topics`` are sorted."""
    for name in islice(topics, bisect_left(topics, prefix), None):
        if not name.startswith(prefix):
            return
        if name[len(prefix) : len(prefix) + 1].isalnum():
            yield name


@lint_rule(
    "KA020",
    "warning",
    "Two principals, or two names of one type, look alike and differ: one has a Cyrillic letter, or they are `al` and "
    "`a1`, `com` and `corn` (Unicode's skeletons, UTS 39). Names of bindings are compared, and the topics and "
    "principals that exist. *Evidence:* all spellings.",
    "Write the name that is meant; rename one of them if both are.",
)
def confusable(state: LintState) -> Iterator[LintFinding]:
    """Principals, and names of one resource type, that look alike."""
    for what, used in state.names.items():
        others = {PRINCIPAL: state.principals, ResourceType.TOPIC.noun: state.topics}.get(what) or frozenset()
        for alike in look_alikes(used.keys() | others if others else used.keys()):
            first, *rest = alike
            # The first spelling is the reference where it is used. Known only by name, each of the others is suspect.
            for other in rest if first in used else alike:
                if other in used:
                    shown = ", ".join(as_name(item) for item in alike if item != other)
                    yield confusable.finding(
                        used[other],
                        f"the {what} {as_name(other)} looks like {shown}, and is another {what}",
                        "write the name that is meant",
                        related=tuple(used[item] for item in alike if item in used and item != other),
                        evidence=alike,
                    )


@lint_rule(
    "KA021",
    "warning",
    "One name has letters of scripts that nobody writes together, such as Latin and Cyrillic. The keys of a "
    "distinguished name, and Latin beside Chinese, Japanese or Korean, do not count.",
    "Type the name again in one script.",
)
def mixed_scripts(state: LintState) -> Iterator[LintFinding]:
    """Principals and names that mix scripts."""
    for what, used in state.names.items():
        for name, binding in used.items():
            scripts = scripts_of(name)
            if scripts:
                message = f"the {what} {as_name(name)} mixes letters of {' and '.join(scripts)}"
                yield mixed_scripts.finding(binding, message, "type the name again in one script")
