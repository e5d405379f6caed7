"""What a reviewer should not overlook, each with the reason why it stands out: grants, and moments without one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Final

from reconciler.codec import AnyText, Says
from reconciler.dataclass import dataclass
from reconciler.model import ANONYMOUS, INTERNAL_TOPICS, AclOperation, DesiredState, FactSource, ResourceType
from reconciler.model.naming import as_name
from reconciler.plan.phase import TITLES
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, ending_words, operations_words
from reconciler.plan.review.proof import Violation

#: The rule of :func:`interruptions`.
INTERRUPTED: Final = "interrupted"
#: Of a step that decides who can log in.
LOGIN: Final = "login"
_RECORDS: Final = frozenset({AclOperation.READ, AclOperation.WRITE})


@dataclass(frozen=True, slots=True, order=True)
class Callout:
    """A stable rule name, who it is about (``everybody else`` where it is nobody in particular), and a sentence."""

    rule: Annotated[str, Says("Why it stands out.", "wildcard")]
    principal: Annotated[str, Says("Who gains it.", "User:svc-orders")]
    text: Annotated[AnyText, Says("In words.", "gains READ on all topics")]


#: The gravest first: whoever floods a review with harmless grants cannot push these out of what is shown.
_GRAVITY: Final = (
    *("cluster-alter", "cluster-configs", "impersonation", "everyone", "wildcard"),
    *("internal-topic", "labelled", "super-user", "cluster"),
)
#: What ALTER_CONFIGS on CLUSTER reaches: ``DynamicBrokerConfig.AllDynamicConfigs`` and
#: ``DynamicListenerConfig.ReconfigurableConfigs`` (4.x). A new listener may have no login, or one that its own
#: ``listener.name.NAME.MECHANISM.sasl.jaas.config`` decides, so whoever adds it logs in as anybody, super users too.
#: ``super.users`` is not among them: no dynamic config reaches ``StandardAuthorizer``.
_RECONFIGURES: Final = (
    "the right to reconfigure running brokers, with new listeners and who may log in there (as anybody), keys and "
    "trust stores, and the retention of every topic"
)
#: Grants of no more than this are shown last, on whatever names.
_MILD: Final = frozenset({AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS})
#: So many principals of whom the same is said are counted, and this many of them named.
_FOLDED: Final = 4
_NAMED: Final = 3


def callouts(
    rows: Iterable[AccessChange], desired: DesiredState, moments: Iterable[Callout] = ()
) -> tuple[Callout, ...]:
    """All that stand out, each once, the gravest first; ``moments`` are those of :func:`interruptions`.

    What is said of many principals alike is said once, with their number.
    """
    labelled = sorted(
        (name, f"{key}={value}") for name, topic in desired.topics.items() for key, value in topic.labels.items()
    )
    alike: dict[tuple[bool, int, str, str], dict[str, Callout]] = {}
    for row in rows:
        if row.gained:
            mild = row.principal is not None and _MILD.issuperset(row.gained)
            when = "" if row.since is None else f", {ending_words(row.since)}"
            for one in (*_of_row(row), *_labelled(row, labelled), *_of_super_user(row)):
                found = replace(one, text=f"{one.text}{when}") if when else one
                said = found.text.removeprefix(f"{as_name(found.principal)} gains ")
                alike.setdefault((mild, _GRAVITY.index(found.rule), found.rule, said), {})[found.principal] = found
    grave, light = (
        [one for key in sorted(alike) if key[0] is mild for one in _folded(key[3], alike[key])]
        for mild in (False, True)
    )
    return (*grave, *moments, *light)


def _folded(said: str, found: dict[str, Callout]) -> Iterator[Callout]:
    """One callout of many principals, if the same is said of many."""
    principals = sorted(found)
    first = found[principals[0]]
    if len(principals) < _FOLDED or said == first.text:
        yield from (found[principal] for principal in principals)
        return
    named = ", ".join(map(as_name, principals[:_NAMED]))
    text = f"{len(principals):,} principals gain {said}: {named} and {len(principals) - _NAMED:,} more"
    yield replace(first, text=text)


def interruptions(moments: Iterable[Violation]) -> tuple[Callout, ...]:
    """What is refused for a moment, although it is permitted before and after; sorted, each once."""
    return tuple(
        sorted(
            Callout(
                INTERRUPTED,
                moment.principal,
                f"after “{TITLES[moment.phase]}”, {as_name(moment.principal)} is refused {moment.operation.name} on "
                f"{moment.resource_type.name} {as_name(moment.name)} for a moment: what permits it before and after "
                "are rights on two resources, and the one goes before the other comes",
            )
            for moment in moments
        )
    )


def _of_row(row: AccessChange) -> Iterator[Callout]:
    who = row.principal or EVERYBODY_ELSE
    name = EVERYBODY_ELSE if row.principal is None else as_name(row.principal)
    kind = row.region.resource_type
    operations = operations_words(row.gained, kind)
    certain = "" if row.reading is None else ", depending on what is not known about the cluster"
    if row.principal is None:
        yield Callout("everyone", who, f"whoever has no ACL of its own gains {operations} on {row.region}{certain}")
    if row.principal == ANONYMOUS:
        yield Callout("everyone", who, f"{name}, whoever connects without a login, gains {operations} on {row.region}")
    # CREATE_TOKENS is on a resource of type USER (KIP-373): the resource is whom one becomes, not who holds the right.
    if kind is ResourceType.USER and AclOperation.CREATE_TOKENS in row.gained:
        text = f"{name} gains CREATE_TOKENS on {row.region}: with a token one logs in as that user{certain}"
        yield Callout("impersonation", who, text)
    if kind is ResourceType.CLUSTER and AclOperation.CLUSTER_ACTION in row.gained:
        text = f"{name} gains CLUSTER_ACTION on the cluster, by which a broker reads every topic{certain}"
        yield Callout("impersonation", who, text)
    if kind is ResourceType.CLUSTER:
        if AclOperation.ALTER in row.gained:
            text = f"{name} gains ALTER on the cluster, the right to change every ACL, and so anything{certain}"
            yield Callout("cluster-alter", who, text)
        elif AclOperation.ALTER_CONFIGS in row.gained:
            yield Callout("cluster-configs", who, f"{name} gains {operations} on the cluster: {_RECONFIGURES}{certain}")
        # Every idempotent producer needs it on old brokers, and WRITE on any topic implies it (KIP-679).
        elif row.gained != (AclOperation.IDEMPOTENT_WRITE,):
            yield Callout("cluster", who, f"{name} gains {operations} on the cluster{certain}")
    # An empty name is the root of all names: the region holds what nobody has created yet.
    elif not row.region.names.text:
        text = f"{name} gains {operations} on {row.region}, including future ones{certain}"
        yield Callout("wildcard", who, text)
    if kind is ResourceType.TOPIC and _RECORDS.intersection(row.gained):
        internal = sorted(name for name in INTERNAL_TOPICS if row.region.contains(name))
        if internal:
            yield Callout("internal-topic", who, f"{name} gains {operations} on {', '.join(internal)}{certain}")


def _of_super_user(row: AccessChange) -> Iterator[Callout]:
    """What a stated super user gains: one callout for each, however many rows it has."""
    if row.principal is not None and row.super_user is not None:
        yield Callout(
            "super-user", row.principal, f"{as_name(row.principal)} gains access {while_super_user(row.super_user)}"
        )


def while_super_user(source: FactSource) -> str:
    """What a grant to a stated super user is worth, and whose word that is."""
    claimed = ", which only the manifests say" if source is FactSource.MANIFESTS else ""
    return f"without effect only while the brokers' super.users holds it{claimed}"


def _labelled(row: AccessChange, labelled: Iterable[tuple[str, str]]) -> Iterator[Callout]:
    """Access to the records of declared topics that carry a label, counted by label."""
    operations = [operation for operation in row.gained if operation in _RECORDS]
    if row.region.resource_type is not ResourceType.TOPIC or not operations:
        return
    counts = Counter(label for name, label in labelled if row.region.contains(name))
    who, words = row.principal or EVERYBODY_ELSE, operations_words(operations, ResourceType.TOPIC)
    name = EVERYBODY_ELSE if row.principal is None else as_name(row.principal)
    for label, count in counts.items():
        topics = "1 topic" if count == 1 else f"{count:,} topics"
        yield Callout("labelled", who, f"{name} gains {words} on {topics} with {as_name(label)}")
