"""``reconciler serve``: look at clusters again and again, revoke what has expired, show metrics and pages."""

import datetime
import threading
from dataclasses import field
from typing import Any, Final

import click

from reconciler.app.apply import ApplyOptions, stoppable
from reconciler.app.connections import manifests_below
from reconciler.app.options import ApprovalRule, ConnectionOptions
from reconciler.app.records import RecordOptions
from reconciler.apply.environment import LeaseRequest
from reconciler.cli.change_options import Duration, approval_rule, guardrails_option, not_author_option
from reconciler.cli.console import CommandError, Exit, info, worst
from reconciler.cli.options import connection_options, path_argument
from reconciler.cli.parts import part_module
from reconciler.dataclass import dataclass
from reconciler.model.characters import safe
from reconciler.parts.serve import rounds
from reconciler.parts.serve.http import ServePages, status_server
from reconciler.parts.serve.narrowing import ApprovedPlans
from reconciler.show.rounds import Round, RoundHistory
from reconciler.system.process import SystemClock

#: How the holder of a server's lease begins.
_SERVER: Final = "serve:"
#: Seconds that its lease lasts without renewal, beside what a barrier takes: a dead server must not hold up the next.
_LEASE: Final = 15.0
#: A reading may be so many intervals old before the server says that it is not ready.
_MISSED: Final = 3


class Address(click.ParamType[tuple[str, int]]):
    """``HOST:PORT``."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Parse, or fail with what was expected."""
        if isinstance(value, tuple):
            return value
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            self.fail(f"{value!r}: write HOST:PORT, such as 127.0.0.1:9470", param, ctx)
        return host.strip("[]"), int(port)


@click.command("serve", short_help="Watch clusters; revoke access that has expired; show metrics")
@path_argument
@click.option(
    "-c",
    "--cluster",
    "clusters",
    metavar="NAME",
    multiple=True,
    help="Watch this cluster; repeatable.  [default: every declared one]",
)
@click.option(
    "--interval", metavar="DURATION", type=Duration(), default="5m", show_default=True, help="Time between two rounds."
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    type=Address(),
    default="127.0.0.1:9470",
    show_default=True,
    help="Where pages, /metrics, /healthz and /readyz are served, without TLS and login.",
)
@click.option(
    "--git-ref", metavar="REF", help="Read PATH at this reference of its git repository, not as it is on disk."
)
@click.option("--git-remote", metavar="REMOTE", help="Fetch the reference from this remote before each round.")
@click.option(
    "--act",
    is_flag=True,
    help="Revoke expired access, remove what dead runs left, perform approved plans.  [default: only look]",
)
@click.option("--once", is_flag=True, help="Run one round and end, for a schedule of your own; nothing is listened on.")
@click.option("--plans", metavar="DIR", help="Perform the signed plans in this directory. Needs --require-approvals.")
@click.option("--require-approvals", metavar="N", type=click.IntRange(min=1), help="Signatures that each plan needs.")
@click.option("--allowed-signers", metavar="FILE", help="Whose signatures count: an OpenSSH allowed_signers file.")
@not_author_option
@click.option(
    "--max-age",
    metavar="DURATION",
    type=Duration(),
    default="7d",
    show_default=True,
    help="Refuse signed plans that were made longer ago.",
)
@click.option("--audit", metavar="FILE", help="Append a JSON audit record for each step: who, when, plan, outcome.")
@click.option(
    "--store",
    metavar="PLACE",
    help="Keep a reading of the cluster in this store in each round that differs, for questions about the past.",
)
@click.option("--operator", metavar="NAME", help="Operator name in audit records and leases.  [default: USER@HOST]")
@guardrails_option
@connection_options
def command(
    *,
    path: str,
    clusters: tuple[str, ...],
    interval: datetime.timedelta,
    listen: tuple[str, int],
    git_ref: str | None,
    git_remote: str | None,
    act: bool,
    once: bool,
    plans: str | None,
    require_approvals: int | None,
    allowed_signers: str | None,
    not_author: tuple[str, ...],
    max_age: datetime.timedelta,
    audit: str | None,
    store: str | None,
    operator: str | None,
    guardrails: str | None,
    connection: ConnectionOptions,
) -> int:
    """Compare the manifests below PATH with clusters, again and again, and serve metrics and pages.

    By itself it only looks. With --act it also narrows: it deletes ALLOWs whose `expires` is over, within seconds,
    and removes what dead runs left. It performs a plan only if enough people have signed it. It does nothing on what it
    cannot read. Several servers may watch one cluster: whoever holds the lease acts.
    """
    _check(act, plans, audit, git_ref, git_remote)
    rule = approval_rule(require_approvals, allowed_signers, not_author)
    if (plans is None) != (rule is None):
        raise CommandError("--plans needs --require-approvals and --allowed-signers, and these need it", "", Exit.USAGE)
    source = _source(path, git_ref, git_remote)
    records = _Records(act, audit, operator, max_age, guardrails, store)
    options = [_options(name, records, plans, rule) for name in clusters or _declared(source, connection)]
    history = RoundHistory(tuple(watched.name for watched in options))
    news = _News()
    if once:
        return _one_round(source, options, connection, news)
    wake = threading.Event()
    pages = ServePages(history, wake, interval * _MISSED)
    host, port = listen
    with status_server(host, port, pages.answer, info) as address, stoppable(wake.set) as stopped:
        info(
            f"{'acts on' if act else 'watches'} {', '.join(map(safe, history.clusters))}; pages and metrics: {address}"
        )
        supervisor = rounds.OnlyStoppable(stopped)
        seconds = interval.total_seconds()
        rounds.ServeLoop(source, options, connection, supervisor, SystemClock(), history, seconds, news.say).run(
            stopped, wake
        )
    info("stopped")
    return Exit.OK


def _one_round(
    source: rounds.ManifestSource, options: list[rounds.ServeOptions], connection: ConnectionOptions, news: "_News"
) -> int:
    """A round of each cluster; exit 1 where one did less than it was to."""
    status = Exit.OK
    with stoppable(lambda: None) as stopped:
        for watched in options:
            done = rounds.run_round(source, watched, connection, rounds.OnlyStoppable(stopped))
            news.say(done)
            status = worst(status, Exit.ERROR if done.failure or done.held_back else Exit.OK)
    return worst(status, Exit.INTERRUPTED if stopped() else Exit.OK)


@dataclass(slots=True)
class _News:
    """What was last said of each cluster: a round like the one before is not worth a line in a log."""

    words: dict[str, str] = field(default_factory=dict)

    def say(self, done: Round) -> None:
        """A line, if it is news."""
        words = done.words() + (f": {safe(done.advice)}" if done.advice else "")
        if self.words.get(done.cluster) != words:
            self.words[done.cluster] = words
            info(f"{done.began:%Y-%m-%dT%H:%M:%SZ} {safe(done.cluster)}: {words}")


@dataclass(frozen=True, slots=True)
class _Records:
    """What the options say of acting, on whichever cluster."""

    act: bool
    audit: str | None
    operator: str | None
    max_age: datetime.timedelta
    guardrails: str | None
    store: str | None


def _check(act: bool, plans: str | None, audit: str | None, git_ref: str | None, git_remote: str | None) -> None:
    if not act and (plans or audit):
        raise CommandError("--plans and --audit count for --act only", "add --act", Exit.USAGE)
    if git_remote is not None and git_ref is None:
        raise CommandError("--git-remote needs --git-ref", "name the branch: --git-ref refs/heads/main", Exit.USAGE)


def _source(path: str, git_ref: str | None, git_remote: str | None) -> rounds.ManifestSource:
    return rounds.DirectorySource(path) if git_ref is None else rounds.git_source(path, git_ref, git_remote)


def _declared(source: rounds.ManifestSource, connection: ConnectionOptions) -> list[str]:
    """Every cluster that the manifests declare at the start."""
    with source.checkout() as checkout:
        clusters = sorted(manifests_below(checkout.path, connection).clusters)
    if not clusters:
        raise CommandError("the manifests declare no cluster", "add a Cluster document", Exit.USAGE)
    return clusters


def _options(cluster: str, given: _Records, plans: str | None, rule: ApprovalRule | None) -> rounds.ServeOptions:
    records = RecordOptions(audit=given.audit, operator=given.operator)
    # Not the name by which a person applies on this machine: a server breaks leases of its own name.
    lease = LeaseRequest(f"{_SERVER}{records.who().removeprefix(_SERVER)}", seconds=_LEASE)
    apply = ApplyOptions(records=records, lease=lease, max_age=given.max_age)
    approved = ApprovedPlans(plans, rule) if plans is not None and rule is not None else None
    keep = None if given.store is None else part_module("history", "serve --store").keeper(given.store)
    return rounds.ServeOptions(cluster, given.act, apply, given.guardrails, approved, keep)
