"""Authorizer logs of services with seasonal jobs, and the rights they have: some used, some in part, some not at all.

What is generated says by itself what a perfect proposal removes and what it must not, so that it can be counted. A
service reads and writes its topics every day; jobs of it run weekly, monthly and quarterly, on topics of their own.
"""

import datetime
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reconciler.access.authorizer import AccessRequest
from reconciler.model.acl import AclOperation, ResourceType

FIRST: Final = datetime.date(2026, 7, 6)
#: Month and day of the yearly jobs: in no window that begins on ``FIRST`` and covers four months.
YEARLY: Final = (12, 6)
#: The cluster, with what the operator states of it.
CLUSTER: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"]}
"""
_DAY: Final = datetime.timedelta(days=1)
_QUARTER: Final = 3
_WRITE, _READ = AclOperation.WRITE, AclOperation.READ
_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP


@dataclass(frozen=True, slots=True)
class Job:
    """Accesses that happen together, and when: each day, or on days that ``season`` names."""

    season: str
    accesses: tuple[AccessRequest, ...]
    since: datetime.date = datetime.date.min

    def runs_on(self, day: datetime.date, service: int) -> bool:
        """Whether it runs on a day; services run on different days."""
        if day < self.since:
            return False
        match self.season:
            case "weekly":
                return day.weekday() == service % 7
            case "monthly":
                return day.day == 1 + service % 28
            case "quarterly":
                # At the end of a quarter, or on a day of its second month.
                if service % 2:
                    return day.month % _QUARTER == 0 and (day + _DAY).day == 1
                return day.month % _QUARTER == 2 and day.day == 1 + service % 28
            case "yearly":
                return (day.month, day.day) == YEARLY
        return True


@dataclass(frozen=True, slots=True)
class Service:
    """A principal with rules as YAML, its jobs, and the requests that its rules permit and that it never makes."""

    number: int
    rules: tuple[str, ...]
    jobs: tuple[Job, ...]
    unused: tuple[AccessRequest, ...] = ()

    @property
    def principal(self) -> str:
        """Its login."""
        return f"User:svc-{self.number:04d}"


@dataclass(slots=True)
class World:
    """All services of a cluster."""

    services: list[Service] = field(default_factory=list)

    def manifests(self) -> str:
        """What is declared for them."""
        cluster = (
            'apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: demo}\nspec: {bootstrapServers: ["b:9092"]}\n'
        )
        return cluster + "".join(_document(service) for service in self.services)

    def accesses(self, day: datetime.date) -> list[AccessRequest]:
        """What happens on a day, each once."""
        return [
            access
            for service in self.services
            for job in service.jobs
            if job.runs_on(day, service.number)
            for access in job.accesses
        ]


def _document(service: Service) -> str:
    rules = "".join(f"    - {rule}\n" for rule in service.rules)
    return (
        f"---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: svc-{service.number}}}\n"
        f"spec:\n  principal: {service.principal}\n  rules:\n{rules}"
    )


def world(services: int, first: datetime.date, days: int) -> World:
    """A cluster with so many services: most alike, some seen on few days, some that grow, some with a yearly job."""
    return World([_of_kind(number, first, days) for number in range(services)])


def _of_kind(number: int, first: datetime.date, days: int) -> Service:
    match number % 10:
        case 0:
            return _once_a_year(number, "reason: closes the year")
        case 5:
            return _once_a_year(number, "keep: closes the year")
        case 7:
            return _batch(number)
        case 8:
            return _growing(number, first, days)
    return _service(number)


def _service(number: int) -> Service:
    own = f"svc{number:04d}"

    def on(operation: AclOperation, name: str, kind: ResourceType = _TOPIC) -> AccessRequest:
        return AccessRequest(f"User:svc-{number:04d}", f"10.0.{number % 250}.7", operation, kind, name)

    daily = Job("daily", (on(_READ, f"{own}.in.orders"), on(_WRITE, f"{own}.out"), on(_READ, f"{own}-g", _GROUP)))
    jobs = [daily]
    rules = [
        # Used every day, in part: one name of the prefix, one operation of ALL.
        f"{{allow: READ, topics: {{prefix: {own}.in.}}, groups: [{own}-g]}}",
        f"{{allow: ALL, topics: [{own}.out]}}",
        # Never used, written in several ways.
        f"{{allow: [READ, DELETE], topics: [{own}.old], reason: once}}",
        f"{{role: consumer, topics: [{own}.gone], groups: [{own}-gone]}}",
    ]
    unused = [
        on(_READ, f"{own}.in.other"),
        on(_READ, f"{own}.in.more"),
        on(AclOperation.DELETE, f"{own}.out"),
        on(_READ, f"{own}.out"),
        on(_READ, f"{own}.old"),
        on(AclOperation.DELETE, f"{own}.old"),
        on(_READ, f"{own}.gone"),
        on(_READ, f"{own}-gone", _GROUP),
    ]
    if number % 10 == 3:
        # A name that comes late looks like growth: the prefix stays, and with it what is not used of it.
        jobs.append(Job("quarterly", (on(_READ, f"{own}.in.closing"),)))
    for season in ("weekly", "monthly", "quarterly"):
        rules.append(f"{{allow: [READ, WRITE], topics: [{own}.{season}]}}")
        jobs.append(Job(season, (on(_READ, f"{own}.{season}"),)))
        unused.append(on(_WRITE, f"{own}.{season}"))
    return Service(number, tuple(rules), tuple(jobs), tuple(unused))


def _once_a_year(number: int, why: str) -> Service:
    """A service as the others, with a job that a window of a quarter does not show."""
    found, own = _service(number), f"svc{number:04d}"
    job = Job("yearly", (_read(number, f"{own}.year"),))
    rule = f"{{allow: READ, topics: [{own}.year], {why}}}"
    return Service(number, (*found.rules, rule), (*found.jobs, job), found.unused)


def _batch(number: int) -> Service:
    """A principal that is seen on few days only: nothing may be taken from it."""
    own = f"svc{number:04d}"
    return Service(
        number,
        (f"{{allow: READ, topics: {{prefix: {own}.}}}}",),
        (Job("monthly", (_read(number, f"{own}.batch"),)),),
    )


def _growing(number: int, first: datetime.date, days: int) -> Service:
    """A service whose names under a prefix become more: each fortnight one, each used every day from then on."""
    own = f"svc{number:04d}"
    jobs = [
        Job("daily", (_read(number, f"{own}.part-{step}"),), first + datetime.timedelta(days=14 * step))
        for step in range(days // 14 + 1)
    ]
    return Service(number, (f"{{allow: READ, topics: {{prefix: {own}.}}}}",), tuple(jobs))


def _read(number: int, name: str) -> AccessRequest:
    return AccessRequest(f"User:svc-{number:04d}", "10.0.0.9", _READ, _TOPIC, name)


def write_logs(place: Path, found: World, first: datetime.date, days: int, decisions: int) -> int:
    """A file a day, with about so many decisions in all; how many there are. What happens on a day happens often."""
    draw, written = random.Random(decisions), 0  # noqa: S311 - not for secrets
    for number in range(days):
        day = first + datetime.timedelta(days=number)
        lines = [_line(access) for access in found.accesses(day)]
        repeated = max(1, -(-decisions // (days * max(1, len(lines)))))
        draw.shuffle(lines)
        with (place / f"kafka-authorizer.log.{day}").open("w", encoding="utf-8") as file:
            for turn in range(repeated):
                stamp = f"[{day} {turn % 24:02d}:00:00,000] DEBUG "
                file.writelines(stamp + line for line in lines)
        written += repeated * len(lines)
    return written


def _line(access: AccessRequest) -> str:
    principal, host, operation, kind, name = access
    return (
        f"Principal = {principal} is Allowed operation = {operation.name} from host = {host} on resource = "
        f"{kind.name.title()}:LITERAL:{name} for request = Any with resourceRefCount = 1 based on rule DefaultAllow "
        "(kafka.authorizer.logger)\n"
    )
