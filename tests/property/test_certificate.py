"""The certificate of a plan and its checker: against every state, a solver, the product's own proof, Kafka's facts."""

import ast
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.cli.main import run
from reconciler.model.acl import OpaqueBinding, ResourcePattern, ResourceType
from reconciler.model.markers import bridge_on, marker_of
from reconciler.plan.certificate import CertificateError, certificate
from reconciler.plan.order import UnsafeOrderError, prove
from tests.property.certificates import (
    CHECKER,
    DIGEST,
    Document,
    brute_force,
    document_of,
    mutants,
    random_plan,
    solved,
    witness,
)

_FLAGS: Final = (False, True, None)
#: Temporary ACLs are needed seldom, and then only where the default is to allow.
_MOSTLY_OPEN: Final = (True, True, True, False)
#: So many plans, of the tests of very many of them and of their mutants.
_LONG, _MUTATED = (int(os.environ.get("CERTIFICATE_PLANS", many)) for many in ("100000", "40"))
_EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "quickstart"


def _row(name: str, principal: str, operation: str, permission: str = "ALLOW", kind: str = "LITERAL") -> Document:
    return {
        "resourceType": "TOPIC",
        "patternType": kind,
        "name": name,
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permissionType": permission,
    }


def _certificate(before: list[Document], *phases: tuple[str, list[Document]], flag: bool | None = False) -> Document:
    """Each phase with a check behind it."""
    changes: list[Document] = []
    found = []
    for action, rows in phases:
        numbers = list(range(len(changes), len(changes) + len(rows)))
        changes += [{"step": str(number), "action": action, **row} for number, row in zip(numbers, rows, strict=True)]
        found.append({"title": action, "changes": numbers, "check": "asked"})
    return {
        "plan": DIGEST,
        "facts": {"allowEveryoneIfNoAclFound": flag, "hostRanges": False, "superUsers": []},
        "before": before,
        "changes": changes,
        "orders": [{"observed": False, "phases": found}],
        "mayInterrupt": [],
    }


# The checker by itself.


def test_it_is_one_short_file_of_the_standard_library() -> None:
    text = CHECKER.read_text(encoding="utf-8")
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= set(sys.stdlib_module_names)
    assert len(text.splitlines()) <= 200


def _kafkas_rows() -> list[Document]:
    text = Path(__file__).parents[1].joinpath("conformance", "authorizer.json").read_text(encoding="utf-8")
    rows: list[Document] = json.loads(text)
    return [row for row in rows if not row["super_users"]]


@pytest.mark.parametrize("row", _kafkas_rows(), ids=lambda row: row["name"])
def test_it_answers_as_kafkas_classes_do(row: Document) -> None:
    """A DENY that comes and goes interrupts exactly what was permitted."""
    query = row["query"]
    acls = [
        {
            "resourceType": acl["resource_type"],
            "patternType": acl["pattern_type"],
            "name": acl["resource_name"],
            "principal": acl["principal"],
            "host": acl["host"],
            "operation": acl["operation"],
            "permissionType": acl["permission"],
        }
        for acl in row["acls"]
    ]
    denial = {
        "resourceType": query["resource_type"],
        "patternType": "LITERAL",
        "name": query["resource_name"],
        "principal": query["principal"],
        "host": query["host"],
        "operation": query["operation"],
        "permissionType": "DENY",
    }
    document = _certificate(acls, ("create", [denial]), ("delete", [denial]), flag=row["allow_everyone_if_no_acl"])
    document["facts"]["hostRanges"] = ">=4.4" in row.get("kafka_versions", "")
    if any(acl["name"][:1] <= "*" and (acl["patternType"], acl["name"]) != ("LITERAL", "*") for acl in [*acls, denial]):
        with pytest.raises(ValueError, match="scan goes wrong"):
            witness(document)
    else:
        assert (witness(document) is not None) is (row["expected"] == "ALLOWED")


def test_a_witness_names_the_moment_and_the_request() -> None:
    old, new = _row("orders", "User:a", "READ"), _row("ord", "User:a", "READ", kind="PREFIXED")
    assert witness(_certificate([old], ("create", [new]), ("delete", [old]))) is None
    assert witness(_certificate([old], ("delete", [old]), ("create", [new]))) == (
        "refuted: in phase 1 User:a from 198.51.100.7 may not, but may before and after: READ TOPIC orders"
    )
    grant, denial = _row("x", "User:*", "ALL"), _row("x", "User:a", "WRITE", "DENY")
    assert witness(_certificate([], ("create", [grant]), ("create", [denial]))) == (
        "refuted: in phase 1 User:a from 198.51.100.7 may, but may not before or after: WRITE TOPIC x"
    )


def test_without_a_check_a_deletion_is_not_behind_what_was_created() -> None:
    old, new = _row("orders", "User:a", "READ"), _row("ord", "User:a", "READ", kind="PREFIXED")
    document = _certificate([old], ("create", [new]), ("delete", [old]))
    document["orders"][0]["phases"][0]["check"] = None
    assert "may not, but may before and after: READ TOPIC orders" in str(witness(document))


def test_ranges_of_hosts_count_where_brokers_have_them() -> None:
    old = _row("x", "User:a", "READ") | {"host": "10.0.0.0/8"}
    new = _row("x", "User:a", "READ") | {"host": "10.1.0.0/16"}
    document = _certificate([old], ("delete", [old]), ("create", [new]))
    assert witness(document) is None  # no connection has such a host
    document["facts"]["hostRanges"] = None
    assert "User:a from 10.1.0.0 may not" in str(witness(document))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda c: c["orders"].clear(), "the order of a run that does not observe"),
        (lambda c: c["orders"][0]["phases"][0]["changes"].clear(), "leaves a step out"),
        (lambda c: c["orders"][0]["phases"][1]["changes"].append(0), "sends it twice"),
        (lambda c: c["before"].clear(), "cannot delete TOPIC LITERAL orders"),
        (lambda c: c["before"].append(_row("ord", "User:a", "READ", kind="PREFIXED")), "cannot create"),
        (lambda c: c["changes"][0].update(step=None), "temporary and stays"),
    ],
)
def test_a_certificate_that_leaves_something_out_proves_nothing(damage: Any, said: str) -> None:
    old, new = _row("orders", "User:a", "READ"), _row("ord", "User:a", "READ", kind="PREFIXED")
    document = _certificate([old], ("create", [new]), ("delete", [old]))
    damage(document)
    assert said in str(witness(document))


def test_ten_thousand_steps_take_seconds() -> None:
    old = [_row(f"team-{n % 50}.topic-{n}", f"User:svc-{n % 400}", "READ") for n in range(5_000)]
    new = [_row(f"team-{n % 50}.topic-{n}", f"User:svc-{n % 400}", "ALL") for n in range(5_000)]
    wide = [_row(f"team-{n}.", f"User:lead-{n}", "ALL", kind="PREFIXED") for n in range(50)]
    began = time.process_time()
    assert witness(_certificate([*wide, *old], ("create", new), ("delete", old), flag=True)) is None
    assert time.process_time() - began < 10


# Against other judges.


def _judged(seeds: range, flags: tuple[bool | None, ...] = _FLAGS, *, with_mutants: bool) -> Counter[str]:
    """All judges of a random plan, and of its mutants, agree; how many of which there were."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        flag = flags[seed % len(flags)]
        plan, live = random_plan(random, default_allow=flag)
        document = document_of(plan, live)
        assert witness(document) is None, seed
        assert solved(document), seed
        prove(Authorizer(live.bindings, (), flag), plan.steps, default_allow=flag)
        seen["plans"] += 1
        for name, mutant in mutants(document, random) if with_mutants else ():
            unsafe = brute_force(mutant)
            found = witness(mutant)
            seen[f"unsafe: {name}" if unsafe else "harmless"] += 1
            if unsafe is None and found is None:
                continue
            # It may refuse more than unsafe states: a temporary ACL that is sent twice, or an order without an end.
            structural = found is not None and " from " not in found
            assert structural or (found is not None) is not solved(mutant), (seed, name, found)
            assert structural or (unsafe is None) is (found is None), (seed, name, unsafe, found)
    return seen


def test_plans_are_safe_for_the_checker_the_solver_and_the_product() -> None:
    assert _judged(range(200), with_mutants=False)["plans"] == 200


def test_every_mutant_that_is_unsafe_is_found() -> None:
    seen = _judged(range(1_000_000, 1_000_000 + _MUTATED), _MOSTLY_OPEN, with_mutants=True)
    kinds = {name for name in seen if name.startswith("unsafe")}
    unsafe = sum(seen[name] for name in kinds)
    print(f"{unsafe:,} unsafe ones of {_MUTATED:,} plans, all of them found")  # the figure of docs/reliability.md
    assert len(kinds) == 8, seen
    assert unsafe >= 2 * _MUTATED, seen


def test_the_products_proof_and_the_checker_agree_on_any_order_of_phases() -> None:
    """The product is asked about steps in an order that it would never choose itself."""
    refused = 0
    for seed in range(200):
        random = Random(seed)
        plan, live = random_plan(random, default_allow=False)
        document = document_of(plan, live)
        phases = document["orders"][0]["phases"]
        for phase in phases:
            phase["check"] = "asked"
        random.shuffle(phases)
        steps = [plan.steps[number] for phase in phases for number in phase["changes"]]
        try:
            prove(Authorizer(live.bindings, (), False), steps, default_allow=False)
        except UnsafeOrderError:
            refused += 1
            assert witness(document) is not None, seed
        else:
            assert witness(document) is None, seed
    assert refused > 30


@pytest.mark.long
def test_very_many_plans_are_safe_for_all_judges() -> None:
    assert _judged(range(2_000_000, 2_000_000 + _LONG), with_mutants=False)["plans"] == _LONG


# The command and the file, as an auditor has them.


def _checked(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-I", "-S", str(CHECKER), *map(str, arguments)), capture_output=True, text=True, check=False
    )


def test_an_auditor_proves_a_plan_with_the_file_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, proof, snapshot = tmp_path / "plan.json", tmp_path / "plan.cert.json", _EXAMPLE / "live.json"
    command = ["plan", str(_EXAMPLE), "-c", f"quickstart=snapshot:{snapshot}", "--allow-deletes"]
    assert run([*command, "--out", str(plan), "--certificate", str(proof)]) == 0
    assert f"check it with “python3 check_plan.py {proof}”" in capsys.readouterr().err
    found = _checked(proof, "--plan", plan, "--snapshot", snapshot)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("4 steps, 5 states, ")
    assert "at no moment may anybody do what neither before nor after permits, and nobody is" in found.stdout
    plan.write_text(plan.read_text(encoding="utf-8").replace("svc-orders", "svc-mallory"), encoding="utf-8")
    assert _checked(proof, "--plan", plan).stderr == "refuted: the certificate is of another plan\n"
    other = tmp_path / "other.json"
    other.write_text(snapshot.read_text(encoding="utf-8").replace("svc-analytics", "svc-other"), encoding="utf-8")
    assert _checked(proof, "--snapshot", other).returncode == 1
    row = _row("orders", "User:a", "READ")
    proof.write_text(json.dumps(_certificate([], ("create", [row]), ("delete", [row]))), encoding="utf-8")
    refuted = _checked(proof)
    assert refuted.returncode == 1
    assert "may, but may not before or after: " in refuted.stderr
    proof.write_text("{}", encoding="utf-8")
    assert _checked(proof).returncode == 2


def test_nothing_is_certified_where_what_is_live_leaves_the_answers_open() -> None:
    plan, live = random_plan(Random(1), default_allow=True)
    bridge = ResourcePattern(ResourceType.TOPIC, "x")
    unreadable = replace(live, opaque=(OpaqueBinding("x", "User:a", "*", 2, 3, 99, 3),))
    begun = replace(live, bindings=live.bindings | {bridge_on(bridge), marker_of("dead", bridge)})
    for state, said in (
        (unreadable, "1 ACLs of the cluster cannot be read"),
        (begun, "temporary ACLs of an earlier run"),
    ):
        with pytest.raises(CertificateError, match=said) as refused:
            certificate(plan, state, DIGEST)
        assert refused.value.advice
