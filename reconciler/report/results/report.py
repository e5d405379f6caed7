"""Everything that one report speaks of."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.plan import Plan
from reconciler.report.kinds import sign_of
from reconciler.report.results.finding import LEVELS, Check, CheckStatus, Finding
from reconciler.report.results.fleet import FleetReport

#: Of the addresses of a cluster, so many say which one it is.
_SERVERS_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Report:
    """Plans, drift reports (plans that only report), findings, checks, and how fleets drifted.

    ``looked`` are states with their basis, ``servers`` where clusters were reached, as far as results say.
    """

    plans: tuple[Plan, ...] = ()
    drifts: tuple[Plan, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    looked: tuple[tuple[str, str], ...] = ()
    fleets: tuple[FleetReport, ...] = ()
    servers: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def all_plans(self) -> tuple[Plan, ...]:
        """Plans, then drift reports."""
        return (*self.plans, *self.drifts)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Every cluster that is spoken of, each once, sorted."""
        planned = (plan.terms.cluster for plan in self.all_plans)
        return tuple(sorted({*planned, *(cluster for cluster, _ in self.looked)}))

    def address_of(self, cluster: str) -> str:
        """Where a cluster was reached: ``broker-1:9093, broker-2:9093``; empty where no result says so."""
        found = dict.fromkeys(server for name, servers in self.servers if name == cluster for server in servers)
        named = list(found)[:_SERVERS_NAMED]
        return ", ".join(named) + (f" and {len(found) - len(named):,} more" if len(found) > len(named) else "")

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Findings that nobody has accepted, the heaviest first, then by place."""
        found = (one for one in self.findings if not one.waived)
        return tuple(sorted(found, key=_order))

    @property
    def guardrail_findings(self) -> tuple[Finding, ...]:
        """What the proposal changes about the rules that judge it, and where they hold although it does."""
        return tuple(one for one in self.open_findings if one.about_guardrails)

    @property
    def other_findings(self) -> tuple[Finding, ...]:
        """Open findings that neither a check nor a plan tells, and that are not about guardrails."""
        return tuple(
            one
            for one in self.open_findings
            if not one.checked and not one.about_guardrails and not one.rule.startswith("left-")
        )

    @property
    def waived_findings(self) -> tuple[Finding, ...]:
        """Findings that somebody has accepted for a while."""
        return tuple(sorted((one for one in self.findings if one.waived), key=_order))

    @property
    def checks_once(self) -> tuple[Check, ...]:
        """The checks, one for all states of a cluster that came to the same: ``declared and after the plan``."""
        found: dict[Check, list[Check]] = {}
        for check in self.checks:
            found.setdefault(replace(check, basis="", lines=()), []).append(check)
        return tuple(
            replace(
                same[0],
                basis=" and ".join(dict.fromkeys(check.basis for check in same if check.basis)),
                lines=tuple(dict.fromkeys(line for check in same for line in check.lines)),
            )
            for same in found.values()
        )

    @property
    def broken_checks(self) -> tuple[Check, ...]:
        """Checks that did not pass, those that stop something first."""
        order = tuple(CheckStatus)
        found = (check for check in self.checks_once if check.standing is not CheckStatus.PASSED)
        return tuple(sorted(found, key=lambda check: (order.index(check.standing), check.cluster, check.group)))

    @property
    def standings(self) -> Counter[CheckStatus]:
        """How many checks ended how."""
        return Counter(check.standing for check in self.checks_once)


def join(reports: Iterable[Report]) -> Report:
    """Several results as one report, in their order."""
    reports = tuple(reports)
    return Report(
        tuple(chain.from_iterable(one.plans for one in reports)),
        tuple(chain.from_iterable(one.drifts for one in reports)),
        tuple(dict.fromkeys(chain.from_iterable(one.findings for one in reports))),
        tuple(dict.fromkeys(chain.from_iterable(one.checks for one in reports))),
        tuple(dict.fromkeys(chain.from_iterable(one.looked for one in reports))),
        tuple(chain.from_iterable(one.fleets for one in reports)),
        tuple(dict.fromkeys(chain.from_iterable(one.servers for one in reports))),
    )


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How many steps of a plan create, update and delete something."""

    create: int
    update: int
    delete: int


def step_counts(plan: Plan) -> StepCounts:
    """Counts of a plan's steps."""
    signs = Counter(sign_of(step.change) for step in plan.steps)
    return StepCounts(signs["+"], signs["~"], signs["-"])


def _order(finding: Finding) -> tuple[object, ...]:
    place = finding.place
    where = ("\uffff", 0, 0) if place is None else (place.file, place.line, place.column)
    return LEVELS.index(finding.level), where, finding.rule, finding.cluster, finding.subject, finding.message
