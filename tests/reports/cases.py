"""What people reported of other Kafka tools, of clients and of Kafka, as small cases: ``*.yaml`` beside this file.

A file is a list of cases. ``given`` is what there is, ``expect`` are the steps and what must come of them:

    - situation: In our own words, one sentence.
      source: kafka-gitops 47          # the project and the number of its issue or pull request
      area: topics                     # one of AREAS
      versions: kafka-gitops 0.2.13    # of which the report speaks
      given:
        topics: [{name: orders}]       # also acls (rules by principal), quotas, users, groups, cluster (its spec)
        live: {topics: {old: {partitions: 1}}, bindings: ["User:a ALLOW READ on TOPIC x"], quotas: [...], users: {...}}
        files: {manifests/more.yaml: "any text"}
        where: broker                     # a real one, instead of a snapshot
      expect:
        - {run: plan CLUSTER, exit: 0, says: [topic orders], never: [topic old]}
        - {sh: a command of the shell}
        - {live: {topics: {orders: {partitions: 1}}}}

``CLUSTER`` stands for the manifests and the cluster. ``t-{1..9}`` in ``given`` stands for nine texts. ``python -m
tests.reports.cases`` writes the table of docs/reliability.md again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

FILES: Final = sorted(Path(__file__).parent.glob("*.yaml"))
PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
AREAS: Final = (
    "ACLs",
    "principals and certificates",
    "topics",
    "configs",
    "deletion",
    "replicas",
    "quotas",
    "users",
    "YAML",
    "git and CI",
    "connections",
    "moving in",
)
_FIELDS: Final = {"situation", "source", "area", "versions", "given", "expect"}
_RANGE: Final = re.compile(r"\{(\d+)\.\.(\d+)\}")
_BEGIN, _END = "<!-- reports: begin -->\n", "<!-- reports: end -->\n"


class Case(NamedTuple):
    """One situation, from which project and number, and what must come of it."""

    situation: str
    source: str
    area: str
    versions: str
    given: dict[str, Any]
    expect: list[dict[str, Any]]

    @property
    def project(self) -> str:
        """The source without its number."""
        return self.source.rpartition(" ")[0]

    @property
    def on_broker(self) -> bool:
        """Whether a real broker has to be asked."""
        return bool(self.given.get("where") == "broker")


def read_cases() -> list[Case]:
    """All cases, in the order of files and places; a field that is missing or unknown is an ``AssertionError``."""
    found = []
    for file in FILES:
        for raw in yaml.safe_load(file.read_text(encoding="utf-8")):
            assert raw.keys() == _FIELDS, f"{file.name}: {raw.get('situation')}: {sorted(raw.keys() ^ _FIELDS)}"
            found.append(Case(**raw))
    return found


def spread(items: Iterable[Any]) -> Iterator[Any]:
    """Each text or mapping, as often as a range in it says."""
    for item in items:
        match = _RANGE.search(item if isinstance(item, str) else str(item.get("name")))
        if match is None:
            yield item
            continue
        for number in range(int(match[1]), int(match[2]) + 1):
            if isinstance(item, str):
                yield _RANGE.sub(str(number), item)
            else:
                yield {**item, "name": _RANGE.sub(str(number), item["name"])}


def table(cases: Iterable[Case]) -> str:
    """How many cases there are by source, and of which areas, as Markdown."""
    by_project: dict[str, Counter[str]] = {}
    for case in cases:
        by_project.setdefault(case.project, Counter())[case.area] += 1
    total = sum(by_project.values(), Counter[str]())
    often = sorted((row for row in by_project.items() if row[1].total() > 1), key=lambda row: -row[1].total())
    lines = [f"| {name} | {areas.total()} | {_areas(areas)} |" for name, areas in often]
    once = {name: areas for name, areas in by_project.items() if areas.total() == 1}
    names = ", ".join(sorted(once, key=str.lower))
    lines.append(f"| one each: {names} | {len(once)} | {_areas(sum(once.values(), Counter[str]()))} |")
    lines.append(f"| **all** | **{total.total()}** | {_areas(total)} |")
    return "\n".join(["| reported of | cases | areas |", "|---|---|---|", *lines, ""])


def _areas(areas: Counter[str]) -> str:
    return ", ".join(f"{name} {areas[name]}" for name in AREAS if areas[name])


def refreshed(page: str) -> str:
    """The page with the table of today."""
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}\n{table(read_cases())}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
