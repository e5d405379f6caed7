"""The tour: real commands and real clients on a cluster kept by hand, each with a claim that is checked.

A transcript that is longer than a few screens is not read, so of a command's output only what bears on the story is
shown; the rest is counted. What is checked is all of it. The second part is a fleet: the sandbox's snapshots, and
clusters that are made up. One Spark session serves all its commands, so they run in this process.
"""

import contextlib
import datetime
import io
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import Consumer, KafkaError, Message, Producer

from reconciler.app.manifests import load
from reconciler.app.options import today
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.dataclass import dataclass
from reconciler.kafka.cluster import connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.manifest.manifests import desired_state
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import moment_text
from reconciler.model.listing import Create
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from reconciler.system.process import SystemClock

#: How the transcript calls the sandbox's directory, so that its command lines stay short.
PLACE: Final = "$DEMO"
#: The transcript fits a terminal of the usual width.
WIDTH: Final = 80
#: Starts the program, whatever is on PATH.
_PROGRAM: Final = (sys.executable, "-c", "from reconciler.cli.main import main; main()")
_REACH: Final = ("--cluster", "demo", "--connections", f"{PLACE}/connections.yaml")
#: By it a server knows what was given while it did not run.
_AUDIT: Final = ("--audit", f"{PLACE}/audit.jsonl")
_PLAN: Final = f"{PLACE}/plan.json"
#: For how long the tour's emergency lasts: long enough for a slow machine to give the access.
_MOMENT: Final = datetime.timedelta(seconds=20)


#: Gets each line of the transcript: a style, and the text.
Show: TypeAlias = Callable[[str, str], None]


class Attempt(NamedTuple):
    """Whether the brokers permitted it, and the position of the record or the error of the client."""

    allowed: bool
    words: str


@dataclass(frozen=True, slots=True)
class TourStep:
    """A claim, what was done, what came of it (a command's exit status too), and whether that bears the claim out."""

    claim: str
    done: str
    output: tuple[str, ...]
    holds: bool
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What a command has to show for its claim: its exit status, and texts in its output or absent from it.

    Of the output the ``first`` and the ``last`` lines are part of the transcript.
    """

    status: int
    shows: tuple[str, ...]
    hides: tuple[str, ...] = ()
    first: int = 0
    last: int = 4

    def shown(self, output: Sequence[str]) -> Iterator[str]:
        """The first and the last lines of what was printed, and how many there are between them."""
        hidden = len(output) - self.first - self.last
        if hidden <= 1:
            yield from output
            return
        yield from output[: self.first]
        yield f"  … {hidden} lines …"
        yield from output[-self.last :]

    def met(self, status: int, output: Iterable[str]) -> bool:
        """Whether it did."""
        text = "\n".join(output)
        return status == self.status and all(t in text for t in self.shows) and not any(t in text for t in self.hides)


@dataclass(frozen=True, slots=True)
class Tour:
    """Where the tour takes place. ``show`` gets each line as it comes: a style, and the text.

    With ``snapshots`` the cluster as people kept it, and as it is in the end, stays in ``$DEMO/snapshots``.
    """

    sandbox: Sandbox
    manifests: str
    show: Show
    snapshots: bool = False

    def steps(self) -> Iterator[TourStep]:
        """Take the tour; a step is performed when it is asked for."""
        self._chapter("1. A cluster kept by hand: several teams, quick fixes, leftovers")
        put_bindings(self.sandbox, everything=True)
        yield from self._snapshot("demo-before", "a snapshot keeps how it was")
        yield from self._before()
        yield from self._commands()
        self._chapter("4. The same clients again")
        yield from self._after()
        self._chapter("5. Somebody helps svc-batch once more, by hand")
        put_bindings(self.sandbox, everything=False)
        yield self._run(
            "drift is seen: exit status 2, for a schedule to act on",
            ("drift", self.manifests, *_REACH),
            Expected(Exit.DIFFERENT, ("User:svc-batch ALLOW WRITE on TOPIC orders.placed",), first=4, last=1),
        )
        yield self._run(
            "what was right becomes an edit of the manifests, to be reviewed",
            ("adopt", self.manifests, *_REACH, "--only", "principals=User:svc-batch"),
            Expected(Exit.OK, ("+  principal: User:svc-batch", "+    - allow: WRITE"), first=1, last=3),
        )
        yield from self._moment()
        yield from self._snapshot("demo", "and another one how it is now")

    def _moment(self) -> Iterator[TourStep]:
        self._chapter("6. Access for a moment, in an emergency, and its end")
        end = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + _MOMENT
        words = ("User:svc-analytics", "READ", "topic/payments.settled", "--until", moment_text(end))
        yield self._run(
            "break-glass access is on the cluster at once, and the edit is there for the pull request",
            (
                "break-glass",
                "grant",
                *words,
                "--reason",
                "incident 4711",
                "--yes",
                "--path",
                self.manifests,
                *_REACH,
                *_AUDIT,
            ),
            Expected(Exit.OK, ("Applied and verified", "break-glass access until"), last=1),
        )
        yield self._read("svc-analytics", "payments.settled", True, "analytics may read payments, for now")
        while datetime.datetime.now(datetime.UTC) < end:
            time.sleep(0.2)
        yield self._run(
            "it ends at its instant, although nobody merged: a server does that by itself",
            ("serve", self.manifests, *_REACH, "--act", "--once", *_AUDIT),
            Expected(Exit.OK, ("revoked 1 expired binding",), last=1),
        )
        yield self._read("svc-analytics", "payments.settled", False, "and payments are closed to them again")

    def _snapshot(self, name: str, claim: str) -> Iterator[TourStep]:
        if self.snapshots:
            (self.sandbox.directory / "snapshots").mkdir(exist_ok=True)
            file = f"{PLACE}/snapshots/{name}.json"
            yield self._run(claim, ("export", *_REACH, "--snapshot", file), Expected(Exit.OK, (), last=1))

    def _before(self) -> Iterator[TourStep]:
        yield self._write("svc-orders", "orders.placed", False, "a DENY that nobody lifted blocks orders")
        yield self._write("svc-batch", "orders.placed", True, "a service that is gone can still write orders")
        yield self._write("admin", "payments.settled", True, "there are payments to be read")
        yield self._read("svc-analytics", "payments.settled", True, "a quick fix lets analytics read payments")

    def _commands(self) -> Iterator[TourStep]:
        self._chapter("2. What the teams declare in git, against the cluster; nothing is written")
        yield self._run(
            "the manifests are sound", ("validate", self.manifests), Expected(Exit.OK, ("31 ACLs", "valid"), last=1)
        )
        yield self._run(
            "the plan names every leftover, in a safe order, and nothing that is not ours",
            ("plan", self.manifests, *_REACH, "--allow-deletes", "--out", _PLAN),
            Expected(Exit.OK, _LEFTOVERS, _NOT_OURS, first=8, last=4),
        )
        self._chapter("3. Apply exactly this plan")
        yield self._run(
            "the plan is applied and verified",
            ("apply", _PLAN, self.manifests, "--connections", f"{PLACE}/connections.yaml", "--yes"),
            Expected(Exit.OK, ("Applied and verified",), last=2),
        )
        yield self._run(
            "cluster and manifests agree",
            ("drift", self.manifests, *_REACH),
            Expected(Exit.OK, (" is as declared",), first=1, last=1),
        )

    def _after(self) -> Iterator[TourStep]:
        yield self._write("svc-orders", "orders.placed", True, "orders flow again")
        yield self._read("svc-analytics", "orders.placed", True, "analytics may read what was written")
        yield self._write("svc-batch", "orders.placed", False, "the service that is gone is out")
        yield self._read("svc-analytics", "payments.settled", False, "payments are closed to analytics")
        yield self._read("svc-analytics", "orders.personal.addresses", False, "a DENY keeps personal data from them")

    def _chapter(self, title: str) -> None:
        self.show("plain", "")
        self.show("title", f"== {title} ==")

    def _write(self, user: str, topic: str, allowed: bool, claim: str) -> TourStep:
        attempt = write(self.sandbox.settings(user), topic, f"a record of {user}")
        return self._attempt(f"{user} writes to {topic}", attempt, allowed=allowed, claim=claim)

    def _read(self, user: str, topic: str, allowed: bool, claim: str) -> TourStep:
        attempt = read(self.sandbox.settings(user), topic, "analytics-daily")
        return self._attempt(f"{user} reads {topic}", attempt, allowed=allowed, claim=claim)

    def _attempt(self, done: str, attempt: Attempt, *, allowed: bool, claim: str) -> TourStep:
        refused = "AUTHORIZATION_FAILED" in attempt.words
        holds = attempt.allowed if allowed else refused
        self.show("plain", f"▸ {done}: {_brief(attempt)}")
        return _judged(TourStep(claim, done, (attempt.words,), holds), self.show)

    def _run(self, claim: str, arguments: tuple[str, ...], expected: Expected) -> TourStep:
        typed = _announced(["reconciler"], arguments, self.show)
        with self._started(arguments) as process:
            output = [text.rstrip("\n").replace(str(self.sandbox.directory), PLACE) for text in process.stdout or ()]
        status = process.returncode
        for text in expected.shown(output):
            self.show(_style(text), text)
        return _judged(TourStep(claim, typed, tuple(output), expected.met(status, output), status), self.show)

    def _started(self, arguments: Iterable[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_PROGRAM, *(word.replace(PLACE, str(self.sandbox.directory)) for word in arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={**_without_options(os.environ), "PYTHONIOENCODING": "utf-8"},
        )


def _announced(program: Sequence[str], words: Iterable[str], show: Show) -> str:
    """A command, shown in lines as one would type it."""
    parts = [*program, *(word if word.startswith(PLACE) else shlex.quote(word) for word in words)]
    show("plain", "")
    for text in command_lines(parts):
        show("title", text)
    return " ".join(parts)


def _judged(step: TourStep, show: Show) -> TourStep:
    show("add" if step.holds else "error", f"  {'✓' if step.holds else '✗ not so:'} {step.claim}")
    return step


_LEFTOVERS: Final = (
    "- User:svc-analytics ALLOW READ on TOPIC PREFIXED payments.",
    "- User:svc-analytics ALLOW READ on TOPIC payments.settled",
    "- User:svc-batch ALLOW ALL on TOPIC orders.placed",
    "- User:svc-orders DENY WRITE on TOPIC orders.placed",
    "retention.ms: 3600000 (1h) → 604800000 (7d)",
)
_NOT_OURS: Final = ("User:sa-mirror", "User:monitoring", "User:etl", "TOPIC legacy.import", "topic legacy.import")


def put_bindings(sandbox: Sandbox, *, everything: bool) -> None:
    """Put the lived-in state on the cluster, or the later change by hand, as the super user ``admin``."""
    login = sandbox.settings("admin")
    client = {name: value for name, value in login.items() if name != "bootstrap.servers"}
    with connect(client_settings(sandbox.bootstrap, client, SecretSource())) as cluster:
        if everything:
            put(cluster, SystemClock(), BINDINGS, TOPICS)
        else:
            put(cluster, SystemClock(), BY_HAND)


def shown_path(path: Path) -> str:
    """A path as one would type it: ``~`` for the home directory, relative below the working directory."""
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    home = Path("~").expanduser() if "HOME" in os.environ else None
    return f"~/{path.relative_to(home)}" if home is not None and path.is_relative_to(home) else str(path)


def command_lines(words: Sequence[str]) -> Iterator[str]:
    """A command as one would type it, in lines that fit a terminal and can be pasted."""
    line = "$"
    for word in words:
        if len(line) + len(word) + 3 > WIDTH:
            yield f"{line} \\"
            line = "   "
        line += f" {word}"
    yield line


def _brief(attempt: Attempt) -> str:
    """``refused (TOPIC_AUTHORIZATION_FAILED)``: the client's own sentence is in the JSON."""
    if attempt.allowed:
        return "permitted"
    return f"refused ({attempt.words.partition(':')[0]})"


def _style(line: str) -> str:
    """Colour for what the command printed without, because it printed to us."""
    return {"+": "add", "-": "remove", "~": "change"}.get(line.strip()[:1], "plain")


def _without_options(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what sets options: the tour shows commands with all that they are given."""
    return {name: value for name, value in environment.items() if not name.startswith("RECONCILER_")}


# A producer and a consumer of one record each, which show what the brokers permit a user.

_SECONDS: Final = 20.0
#: Errors that the client reports although a broker answers; they say nothing about access.
_PASSING: Final = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})


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


#: Clusters that are made up beside those of the sandbox.
SITES: Final = 40
#: What nobody declared, on one of them only.
_FORGOTTEN: Final = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "orders.placed"),
    AccessControlEntry("User:svc-intern", "*", AclOperation.ALL, AclPermissionType.ALLOW),
)
_CLUSTER: Final = """\
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}, labels: {{env: demo, region: {region}}}}}
spec:
  allowEveryoneIfNoAclFound: false
  superUsers: [User:admin, User:reconciler]
  scope:
    include:
      - principals: {{prefix: "User:svc-"}}
      - topics: {{prefix: orders.}}
      - topics: {{prefix: payments.}}
  ignore: [{{principals: {{prefix: "User:sa-"}}}}]
"""
_FLEET: Final = """\
---
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: tour}
spec:
  waves:
    - {name: canary, clusters: {matchLabels: {region: eu}}, gate: {soak: 1h}}
    - {name: rest, clusters: {matchLabels: {}}}
"""


@dataclass(frozen=True, slots=True)
class FleetTour:
    """``directory`` is what ``$DEMO`` stands for; ``snapshots`` in it has the sandbox's. ``show`` is as in ``Tour``.

    ``session`` is Spark's, which all commands share.
    """

    directory: Path
    show: Show
    session: Callable[[], AbstractContextManager[Any]]

    def prepare(self, manifests: Path) -> None:
        """Write the fleet: manifests beside which forty more clusters are declared, and a snapshot of each.

        The first lost a grant, the second has one that nobody declared.
        """
        fleet, live = self.directory / "fleet", self.directory / "snapshots"
        shutil.copytree(manifests, fleet)
        live.mkdir(exist_ok=True)
        # As it was before, the sandbox stands for a cluster of its own: two names for one cluster are a mistake.
        before = live / "demo-before.json"
        earlier = parse_snapshot(before.read_text(encoding="utf-8"))
        other = replace(earlier, cluster_id=f"{earlier.cluster_id}-before")
        before.write_text(snapshot_text(other), encoding="utf-8")
        names = [f"site-{number:02}" for number in range(1, SITES + 1)]
        declared = [_CLUSTER.format(name="demo-before", region="eu")]
        declared += [_CLUSTER.format(name=name, region=("eu", "us")[n % 2]) for n, name in enumerate(names)]
        (fleet / "fleet.yaml").write_text("".join([*declared, _FLEET]), encoding="utf-8")
        loaded = load(str(fleet))
        for number, name in enumerate(names):
            wanted = desired_state(loaded, name, today())
            topics = {item.topic.name: item.topic for item in wanted.topics.values() if not item.absent}
            bindings = frozenset(wanted.bindings)
            bindings = (bindings - {min(bindings)}, bindings | {_FORGOTTEN}, bindings)[min(number, 2)]
            state = ClusterState(f"tour-{name}", bindings, {n: replace(t, topic_id=None) for n, t in topics.items()})
            (live / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")

    def steps(self) -> Iterator[TourStep]:
        """Take the tour; a step is performed when it is asked for."""
        self.show("plain", "")
        self.show("title", f"== 7. A fleet: this cluster before and after, and {SITES} more, on Spark ==")
        store = ("--store", f"{PLACE}/store")
        with self.session():
            yield self._run(
                "every cluster is read once",
                ("snapshot", f"{PLACE}/fleet", *store, "--snapshots", f"{PLACE}/snapshots"),
                Expected(Exit.OK, (f"{SITES + 2} clusters read",), last=1),
            )
            yield self._run(
                "the differences are found, on three of them and on the sandbox; the rest is not read",
                ("drift", f"{PLACE}/fleet", *store, "--limit", "1"),
                Expected(
                    Exit.DIFFERENT, ("38 as declared, 4 differ", "demo-before", "equal by digest"), first=3, last=4
                ),
            )
            yield self._run(
                "one question over all of them, by Kafka's own rules",
                ("query", "who-can", "READ", "topic/payments.settled", "-f", f"{PLACE}/fleet", *store),
                Expected(Exit.OK, ("demo-before  User:svc-analytics",), first=5, last=1),
            )
            yield self._run(
                "the access that only one cluster has stands out",
                ("query", "outliers", "-f", f"{PLACE}/fleet", *store),
                Expected(Exit.OK, ("only here", "User:svc-intern", "site-02"), first=5, last=1),
            )
            yield self._run(
                "one plan for the fleet, canary first; equal changes share an approval",
                ("plan", f"{PLACE}/fleet", "--snapshots", f"{PLACE}/snapshots", *_DELETES, "--out", f"{PLACE}/plans"),
                Expected(Exit.OK, ("wave canary", "gate: no failure, then wait 1h", "fleet-"), first=4, last=4),
            )

    def _run(self, claim: str, words: tuple[str, ...], expected: Expected) -> TourStep:
        typed = _announced(["reconciler fleet"], words, self.show)
        captured = io.StringIO()
        with contextlib.redirect_stdout(captured), contextlib.redirect_stderr(captured):
            status = int(run(["fleet", *(word.replace(PLACE, str(self.directory)) for word in words)]))
        output = tuple(captured.getvalue().replace(str(self.directory), PLACE).splitlines())
        for text in expected.shown(output):
            # A table is cut where it ends: its columns would not be seen in lines of their own.
            too_wide = words[0] == "query" and len(text) > WIDTH
            self.show("plain", f"{text[: WIDTH - 1]}…" if too_wide else text)
        return _judged(TourStep(claim, typed, output, expected.met(status, output), status), self.show)


_DELETES: Final = ("--allow-deletes",)
