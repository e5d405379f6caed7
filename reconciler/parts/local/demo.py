"""``reconciler demo``: the tour's clients and the cluster that it begins with.

``reconciler demo``: a tour on a real broker, from a cluster kept by hand to one kept in git.
"""

import importlib.resources
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import click
from confluent_kafka import Consumer, KafkaError, Message, Producer

from reconciler.cli.console import CommandError, Exit, error, fitted, out, out_json, progress, style_for
from reconciler.cli.options import output_option
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Create
from reconciler.model.topic import Topic
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest
from reconciler.results.output import OutputKind

if TYPE_CHECKING:
    from reconciler.parts.local.sandbox.state import Sandbox
    from reconciler.parts.local.tour import TourStep

#: The sandbox, and the cluster that ``examples/acls`` declares.
_NAME: Final = "demo"
Show: TypeAlias = Callable[[str, str], None]


@click.command("demo", short_help="Tour on a sandbox: validate, plan, apply, drift")
@click.option("--keep", is_flag=True, help="Keep the sandbox running.")
@click.option("--fleet", is_flag=True, help="Continue with a fleet on Spark.")
@output_option
def command(*, keep: bool, fleet: bool, output: str) -> int:
    """Start a broker, fill it with a typical state, and bring it under manifests.

    Takes about half a minute on two idle cores, and a minute or two more with --fleet. The first run also downloads
    Kafka (45 MB). Commands are shown as you would type them, with their output, and clients try what they may and may
    not do. Each step states a claim; exit 1 if one of them does not hold.
    """
    from reconciler.parts.local.tour import WIDTH, Tour

    style, began = style_for(sys.stdout), time.monotonic()

    def show(role: str, text: str) -> None:
        if output == "text":
            out([fitted(text if role == "plain" else style(role, text), WIDTH)], whole=True)

    with _sandbox(keep=keep) as sandbox:
        manifests = _manifests(sandbox)
        _say_where(sandbox, show)
        steps = list(Tour(sandbox, manifests, show, snapshots=fleet).steps())
        if fleet:
            steps += _over_a_fleet(sandbox, manifests, show)
        if output == "json":
            out_json(OutputKind.DEMO, _document(steps, sandbox if keep else None))
        else:
            out(_go_on(sandbox, manifests, keep=keep, seconds=time.monotonic() - began), whole=True)
    failed = [step for step in steps if not step.holds]
    if failed:
        error(f"{len(failed)} of {len(steps)} steps did not show what they claim")
        return Exit.ERROR
    return Exit.OK


@contextmanager
def _sandbox(*, keep: bool) -> "Iterator[Sandbox]":
    from reconciler.parts.local.sandbox.layout import SandboxError, SandboxSpec, generated_users
    from reconciler.parts.local.sandbox.lifecycle import running, status, up
    from reconciler.ports import ClusterError

    if any(sandbox.name == _NAME and sandbox.condition() != "crashed" for sandbox in status()):
        raise CommandError(f"a sandbox {_NAME} is up already", f"end it: reconciler sandbox down --name {_NAME}")
    spec = SandboxSpec(name=_NAME, users=generated_users("admin", "reconciler", *USERS))
    try:
        with nullcontext(up(spec, progress=progress)) if keep else running(spec, progress=progress) as sandbox:
            yield sandbox
    except SandboxError as error:
        raise CommandError(error.message, error.advice) from error
    except ClusterError as error:
        raise CommandError(f"the sandbox failed: {error}", error.advice) from error


def _manifests(sandbox: "Sandbox") -> str:
    """``examples/acls`` of the clone, or a copy of what the wheel carries, so that it can be edited."""
    from reconciler.parts.local.tour import PLACE

    clone = Path(__file__).parents[3] / "examples" / "acls"
    if clone.is_dir():
        return os.path.relpath(clone)
    with importlib.resources.as_file(importlib.resources.files("reconciler.cli") / "examples") as packaged:
        shutil.copytree(packaged, sandbox.directory / "manifests")
    return f"{PLACE}/manifests"


def _over_a_fleet(sandbox: "Sandbox", manifests: str, show: Show) -> "list[TourStep]":
    from reconciler.parts.fleet.cli.tour import FleetTour
    from reconciler.parts.local.tour import PLACE

    tour = FleetTour(sandbox.directory, show)
    tour.prepare(Path(manifests.replace(PLACE, str(sandbox.directory))))
    return list(tour.steps())


def _say_where(sandbox: "Sandbox", show: Show) -> None:
    from reconciler.parts.local.tour import PLACE, shown_path

    show("title", f"Kafka {sandbox.kafka_version} is up at {sandbox.bootstrap}, with access control on.")
    show("dim", "The commands below run as you see them, with the middle of long output left out.")
    show("dim", "▸ is a client's attempt, ✓ what was checked.")
    show("dim", f"{PLACE.removeprefix('$')}={shown_path(sandbox.directory)}")


def _program() -> str:
    """How this program is called in the reader's shell, whose PATH may be without it."""
    if shutil.which("reconciler") is not None:
        return "reconciler"
    return str(Path(sys.executable).parent.absolute() / "reconciler")


def _go_on(sandbox: "Sandbox", manifests: str, *, keep: bool, seconds: float) -> Iterator[str]:
    """The commands to go on with, which can be pasted as they are."""
    from reconciler.parts.local.tour import PLACE, shown_path

    program = shlex.quote(_program())
    place = shown_path(sandbox.directory)
    yield ""
    yield f"That was all, after {seconds:.0f} s."
    if not keep:
        yield "Nothing is left running. To try it yourself, keep the broker:"
        yield f"  {program} demo --keep"
        return
    reach = f"--cluster demo --connections {shown_path(sandbox.connections)}"
    found = manifests.replace(PLACE, place)
    yield "The broker stays up. Change what a team may do, then:"
    for line, purpose in (
        (f"{program} plan {found} {reach}", "see what it would change"),
        (f"{program} apply {found} {reach}", "plan, ask, perform"),
        (f"{program} export {reach}", "the whole cluster as manifests"),
        (f"{program} sandbox down --name demo", "end it; nothing is left"),
    ):
        yield f"  # {purpose}"
        yield f"  {line}"


def _document(steps: "list[TourStep]", kept: "Sandbox | None") -> dict[str, object]:
    return {
        "succeeded": all(step.holds for step in steps),
        "connections": None if kept is None else str(kept.connections),
        "steps": [
            {
                "claim": step.claim,
                "done": step.done,
                "exitStatus": step.status,
                "output": list(step.output),
                "holds": step.holds,
            }
            for step in steps
        ],
    }


# A producer and a consumer of one record each, which show what the brokers permit a user.

_SECONDS: Final = 20.0
#: Errors that the client reports although a broker answers; they say nothing about access.
_PASSING: Final = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})


class Attempt(NamedTuple):
    """Whether the brokers permitted it, and the position of the record or the error of the client."""

    allowed: bool
    words: str


def write(settings: Mapping[str, str], topic: str, value: str) -> Attempt:
    """Produce one record and wait for the result."""
    attempts: list[Attempt] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
        attempts.append(Attempt(True, f"written to {where}") if error is None else _refused(error))

    producer = Producer({**settings, "log_level": 0, "message.timeout.ms": int(_SECONDS * 1000)})
    producer.produce(topic, value.encode(), on_delivery=delivered)
    producer.flush(_SECONDS + 1)
    return attempts[0] if attempts else Attempt(False, f"no answer in {_SECONDS:g} s")


def read(settings: Mapping[str, str], topic: str, group: str) -> Attempt:
    """Consume one record of the topic as a member of the group."""
    consumer = Consumer(
        {**settings, "log_level": 0, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    try:
        consumer.subscribe([topic])
        return _first(consumer)
    finally:
        consumer.close()


def _first(consumer: Consumer) -> Attempt:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        message: Any = consumer.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            return Attempt(True, f"read from {message.topic()}: {message.value().decode()}")
        if error.code() not in _PASSING:
            return _refused(error)
    return Attempt(False, f"nothing came in {_SECONDS:g} s")


def _refused(error: KafkaError) -> Attempt:
    return Attempt(False, f"{error.name()}: {error.str()}")


# The cluster of the tour before there are manifests: access of teams, and manual changes.

#: Users that log in on the tour, besides the super users.
USERS: Final = ("svc-orders", "svc-analytics", "svc-batch")
#: A broker enforces a change shortly after the controller accepted it, usually within milliseconds.
_ENFORCED_SECONDS: Final = 20.0

_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP


def _acls(
    principal: str, permission: str, operations: str, pattern: ResourcePattern, host: str = "*"
) -> Iterator[AclBinding]:
    for operation in operations.split():
        entry = AccessControlEntry(f"User:{principal}", host, AclOperation[operation], AclPermissionType[permission])
        yield AclBinding(pattern, entry)


def _topic(name: str) -> ResourcePattern:
    return ResourcePattern(_TOPIC, name)


def _prefix(kind: ResourceType, name: str) -> ResourcePattern:
    return ResourcePattern(kind, name, PatternType.PREFIXED)


TOPICS: Final = (
    # An hour instead of a week: set by hand when a disk was full.
    Topic("orders.placed", 3, 1, {"retention.ms": "3600000"}),
    Topic("orders.personal.addresses", 3, 1, {"cleanup.policy": "compact", "retention.ms": "604800000"}),
    Topic("payments.settled", 3, 1, {"retention.ms": "604800000"}),
    Topic("legacy.import", 1, 1),
)

BINDINGS: Final = (
    # As in the manifests.
    *_acls("svc-orders", "ALLOW", "WRITE DESCRIBE", _topic("orders.placed")),
    *_acls("svc-orders", "ALLOW", "READ DESCRIBE", _topic("payments.settled")),
    *_acls("svc-orders", "ALLOW", "READ", ResourcePattern(_GROUP, "orders")),
    *_acls("svc-payments", "ALLOW", "READ DESCRIBE", _topic("orders.placed")),
    *_acls("svc-payments", "ALLOW", "READ", ResourcePattern(_GROUP, "payments")),
    *_acls("svc-analytics", "ALLOW", "READ", _prefix(_TOPIC, "orders.")),
    *_acls("svc-analytics", "ALLOW", "READ", _prefix(_GROUP, "analytics-")),
    # Granted for an audit that is over.
    *_acls("svc-analytics", "ALLOW", "READ", _topic("payments.settled")),
    # Manual changes: a quick fix that grants too much, an emergency DENY that stayed, a service that no longer exists.
    *_acls("svc-analytics", "ALLOW", "READ", _prefix(_TOPIC, "payments.")),
    *_acls("svc-orders", "DENY", "WRITE", _topic("orders.placed")),
    *_acls("svc-batch", "ALLOW", "ALL", _topic("orders.placed")),
    # Not ours: ignored by declaration, and out of scope.
    *_acls("sa-mirror", "ALLOW", "READ DESCRIBE", _prefix(_TOPIC, "orders.")),
    *_acls("monitoring", "ALLOW", "DESCRIBE", _topic("*")),
    *_acls("etl", "ALLOW", "READ WRITE", _topic("legacy.import"), "10.0.0.9"),
)

#: A manual change after the manifests were applied.
BY_HAND: Final = tuple(_acls("svc-batch", "ALLOW", "WRITE", _topic("orders.placed")))


def put(cluster: Cluster, clock: Clock, bindings: Sequence[AclBinding], topics: Sequence[Topic] = ()) -> None:
    """Create through Kafka's Admin API and wait until the broker enforces it; raises :class:`ClusterError`."""
    answers = [*cluster.send([Create(topic) for topic in topics]), *cluster.send([Create(b) for b in bindings])]
    for answer in answers:
        if not answer.good:
            raise ClusterError(answer.code, answer.message)
    end = clock.monotonic() + _ENFORCED_SECONDS
    while not cluster.read(ReadRequest(all_topics=False)).bindings.issuperset(bindings):
        if clock.monotonic() > end:
            raise ClusterError("not_enforced", f"the broker does not know its new ACLs after {_ENFORCED_SECONDS:g} s")
        clock.sleep(0.1)
