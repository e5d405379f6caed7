"""The tour: real commands and real clients on a lived-in cluster, each with a claim that is checked."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.demo_clients import Attempt, read, write
from reconciler.adapters.demo_state import BINDINGS, BY_HAND, TOPICS, put
from reconciler.adapters.kafka.cluster import connect
from reconciler.adapters.kafka.secret_source import SecretSource
from reconciler.adapters.kafka.settings import client_settings
from reconciler.cli.exits import Exit

if TYPE_CHECKING:
    from reconciler.adapters.sandbox import Sandbox

#: How the transcript calls the sandbox's directory, so that its command lines stay short.
PLACE: Final = "$DEMO"
_COMMAND: Final = "from reconciler.cli.main import main; main()"
_REACH: Final = ("--cluster", "demo", "--connections", f"{PLACE}/connections.yaml")
_PLAN: Final = f"{PLACE}/plan.json"


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
    """What a command has to show for its claim: its exit status, and texts in its output or absent from it."""

    status: int
    shows: tuple[str, ...]
    hides: tuple[str, ...] = ()

    def met(self, status: int, output: Iterable[str]) -> bool:
        """Whether it did."""
        text = "\n".join(output)
        return status == self.status and all(t in text for t in self.shows) and not any(t in text for t in self.hides)


@dataclass(frozen=True, slots=True)
class Tour:
    """Where the tour takes place. ``show`` gets each line as it comes: a style, and the text.

    With ``snapshots`` the cluster as people kept it, and as it is in the end, stays in ``$DEMO/snapshots``.
    """

    sandbox: "Sandbox"
    manifests: str
    show: Callable[[str, str], None]
    snapshots: bool = False

    def steps(self) -> Iterator[TourStep]:
        """Take the tour; a step is performed when it is asked for."""
        self._by_hand("This cluster was maintained by hand: several teams, quick fixes, leftovers.")
        put_bindings(self.sandbox, everything=True)
        yield from self._snapshot("demo-before", "a snapshot keeps how it was")
        yield from self._before()
        yield from self._commands()
        yield from self._after()
        self._by_hand("Then somebody helps svc-batch once more, by hand.")
        put_bindings(self.sandbox, everything=False)
        yield self._run(
            "drift is seen: exit status 2, for a schedule to act on",
            ("drift", self.manifests, *_REACH),
            Expected(Exit.DIFFERENT, ("User:svc-batch ALLOW WRITE on TOPIC orders.placed",)),
        )
        yield from self._snapshot("demo", "and another one how it is now")

    def _snapshot(self, name: str, claim: str) -> Iterator[TourStep]:
        if self.snapshots:
            (self.sandbox.directory / "snapshots").mkdir(exist_ok=True)
            file = f"{PLACE}/snapshots/{name}.json"
            yield self._run(claim, ("export", *_REACH, "--snapshot", file), Expected(Exit.OK, ()))

    def _before(self) -> Iterator[TourStep]:
        yield self._write("svc-orders", "orders.placed", False, "an emergency stop that nobody lifted blocks orders")
        yield self._write("svc-batch", "orders.placed", True, "a service that is gone can still write orders")
        yield self._write("admin", "payments.settled", True, "there are payments to be read")
        yield self._read("svc-analytics", "payments.settled", True, "a quick fix lets analytics read payments")

    def _commands(self) -> Iterator[TourStep]:
        yield self._run(
            "the manifests are sound", ("validate", self.manifests), Expected(Exit.OK, ("31 bindings", "valid"))
        )
        plan = self._run(
            "the plan names every leftover, in a safe order, and nothing that is not ours",
            ("plan", self.manifests, *_REACH, "--allow-deletes", "--out", _PLAN),
            Expected(Exit.OK, _LEFTOVERS, _NOT_OURS),
        )
        yield plan
        yield self._run(
            "the plan is applied and verified",
            ("apply", _PLAN, self.manifests, "--connections", f"{PLACE}/connections.yaml", "--yes"),
            Expected(Exit.OK, ("Applied and verified",)),
            above=plan.output,
        )
        yield self._run(
            "cluster and manifests agree", ("drift", self.manifests, *_REACH), Expected(Exit.OK, ("Nothing to do.",))
        )

    def _after(self) -> Iterator[TourStep]:
        yield self._write("svc-orders", "orders.placed", True, "orders flow again")
        yield self._read("svc-analytics", "orders.placed", True, "analytics may read what was written")
        yield self._write("svc-batch", "orders.placed", False, "the service that is gone is out")
        yield self._read("svc-analytics", "payments.settled", False, "payments are closed to analytics")
        yield self._read("svc-analytics", "orders.personal.addresses", False, "a DENY keeps personal data from them")

    def _by_hand(self, text: str) -> None:
        self.show("plain", "")
        self.show("title", text)

    def _write(self, user: str, topic: str, allowed: bool, claim: str) -> TourStep:
        attempt = write(self.sandbox.settings(user), topic, f"a record of {user}")
        return self._attempt(f"{user} writes to {topic}", attempt, allowed=allowed, claim=claim)

    def _read(self, user: str, topic: str, allowed: bool, claim: str) -> TourStep:
        attempt = read(self.sandbox.settings(user), topic, "analytics-daily")
        return self._attempt(f"{user} reads {topic}", attempt, allowed=allowed, claim=claim)

    def _attempt(self, done: str, attempt: Attempt, *, allowed: bool, claim: str) -> TourStep:
        refused = "AUTHORIZATION_FAILED" in attempt.words
        holds = attempt.allowed if allowed else refused
        self.show("plain", "")
        self.show("title", f"▸ {done}")
        self.show("plain", f"  {attempt.words}")
        return self._judged(TourStep(claim, done, (attempt.words,), holds))

    def _run(self, claim: str, arguments: tuple[str, ...], expected: Expected, above: tuple[str, ...] = ()) -> TourStep:
        """Run a command; lines that stand ``above`` already are not shown twice."""
        line = " ".join(["reconciler", *(word if word.startswith(PLACE) else shlex.quote(word) for word in arguments)])
        self.show("plain", "")
        self.show("title", f"$ {line}")
        if above:
            self.show("dim", "… the plan, as above")
        output: list[str] = []
        with self._started(arguments) as process:
            for text in process.stdout or ():
                output.append(text.rstrip("\n").replace(str(self.sandbox.directory), PLACE))
                if output[-1] not in above:
                    self.show(_style(output[-1]), output[-1])
        status = process.returncode
        if status:
            self.show("dim", f"(exit status {status})")
        return self._judged(TourStep(claim, line, tuple(output), expected.met(status, output), status))

    def _started(self, arguments: Iterable[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *(word.replace(PLACE, str(self.sandbox.directory)) for word in arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )

    def _judged(self, step: TourStep) -> TourStep:
        self.show("add" if step.holds else "error", f"  {'✓' if step.holds else '✗ not so:'} {step.claim}")
        return step


_LEFTOVERS: Final = (
    "- User:svc-analytics ALLOW READ on TOPIC PREFIXED payments.",
    "- User:svc-analytics ALLOW READ on TOPIC payments.settled",
    "- User:svc-batch ALLOW ALL on TOPIC orders.placed",
    "- User:svc-orders DENY WRITE on TOPIC orders.placed",
    "retention.ms: 3600000 (1h) → 604800000 (7d)",
)
_NOT_OURS: Final = ("User:sa-mirror", "User:monitoring", "User:etl", "TOPIC legacy.import", "topic legacy.import")


def put_bindings(sandbox: "Sandbox", *, everything: bool) -> None:
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


def _style(line: str) -> str:
    """Colour for what the command printed without, because it printed to us."""
    return {"+": "add", "-": "remove", "~": "change"}.get(line.strip()[:1], "plain")
