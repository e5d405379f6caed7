"""Whether the tests of access notice: each fault here is put into a copy of the code, and must be found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_TESTS = (
    "tests/unit/access",
    "tests/unit/conformance/test_access_conformance.py",
    "tests/property/test_access_authorizer.py",
    "tests/property/test_access_difference.py",
    "tests/property/test_access_assertions.py",
    "tests/property/test_access_effective.py",
    "tests/property/test_access_opaque.py",
    "tests/property/test_access_floods.py",
    "tests/property/test_broker_defects.py",
    "tests/property/test_hosts.py",
)

#: File, what stands there, what stands there instead.
MUTANTS = [
    ("operations.py", "& ~(mask >> DENIED)", ""),
    ("operations.py", "    _O.ALTER: _O.DESCRIBE,\n", ""),
    ("operations.py", "        return named << DENIED", "        return (named | 1 << _O.DESCRIBE) << DENIED"),
    ("name_index.py", "while index >= 0:\n            if prefix", "if index >= 0:\n            if prefix"),
    ("name_index.py", "around = self.masks[parent] if parent >= 0 else 0 if", "around = 0 if"),
    ("name_index.py", "return 0 if prefix[:1] == WILDCARD else self.base", "return self.base"),
    ("name_index.py", "else 0 if text[0] == WILDCARD else self.base", "else self.base"),
    ("hosts.py", "number = max(number, last + 1)", "number = last + 1"),
    ("hosts.py", "if length >= 0)", "if length > 0)"),
    (
        "interpretation_difference.py",
        "1 << AclOperation.WRITE | 1 << AclOperation.WRITE + DENIED",
        "1 << AclOperation.WRITE",
    ),
    (
        "difference.py",
        "hidden = before.super_users | after.super_users",
        "hidden = before.super_users & after.super_users",
    ),
    (
        "index.py",
        "who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))\n            groups",
        "who = (principal,)\n            groups",
    ),
    ("index.py", "compiled.pop(group_key, None)", "pass"),
    ("nested_names.py", "            found.extend(inside(disjoint, key))", "            pass"),
    ("nested_names.py", "    return not key.literal and at <", "    return False and at <"),
    ("name_coverage.py", "if key.matches(name):", "if name:"),
    ("name_coverage.py", "key.kind == LITERAL and self._holds(key.text)", "False"),
    ("interpretation.py", "if found and self.index is self.cover:", "if found:"),
    ("interpretation_difference.py", "            yield from new.newly(old)\n", ""),
    ("interpretation_difference.py", "zone.matches(PROBE) for zone", "False for zone"),
    ("interpretation_difference.py", "            found.update(everyone)\n", ""),
    ("interpretation_difference.py", "unchanged=overrides", "unchanged=False"),
    (
        "comparison.py",
        "{zone, ASTERISK_NAMES, literal(WILDCARD)} if zone.contains(ASTERISK_NAMES) else {zone}",
        "{zone}",
    ),
    ("regions.py", "                self._kept[outer].cuts.append(index)\n", ""),
    ("comparison.py", "            if interpretation.default_allow:", "            if False:"),
    ("api_rights.py", "found |= interpretation.access(*asked) & ON_EVERY_TOPIC", "pass"),
    ("class_set.py", "self.lacking.difference(self.members)", "self.lacking"),
    ("regions.py", "for outer, (parts, added) in outside.items():", "for outer, (parts, added) in ():"),
    ("possible.py", "for before, after in self._pairs:", "for before, after in self._pairs[:1]:"),
    (
        "possible.py",
        "gained = gained & ~(before.least.access(*other) & ON_EVERY_TOPIC)",
        "gained = gained & ~before.most.access(*other)",
    ),
    ("interpretation.py", "plain = self.guessed or (*self.both, *self.both)", "plain = (*self.both, *self.both)"),
    ("counterexample.py", "            found.append(literal(WILDCARD))", "            pass"),
    (
        "counterexample.py",
        "                if text == WILDCARD and found.label == WILDCARD:",
        "                if True:",
    ),
    ("hosts.py", "for outer, label in sorted(ranges.items())", "for outer, label in ()"),
    (
        "hosts.py",
        "return any(found.holds(own) for found in outer)",
        "return any(found.contains(IpAddress(own.width, own.first)) for found in outer)",
    ),
    ("hosts.py", "        if number < first:\n            break\n", ""),
    ("broker_defects.py", "or resource_type in self._scan_ends_early", ""),
    ("broker_defects.py", "b.pattern.name <= WILDCARD for changes", "b.pattern.name < WILDCARD for changes"),
    ("lint/covering.py", "if self._authorizer.interpretations.most.default_allow or not", "if not"),
    (
        "opaque.py",
        'principal = entry.principal if ":" in entry.principal else WILDCARD_PRINCIPAL',
        "principal = entry.principal",
    ),
    ("by_resource_type.py", "and not denied.at_names(names_of(binding.pattern))", ""),
    ("effective.py", "return [names]\n    if _reaches", "return []\n    if _reaches"),
    (
        "lint/covering.py",
        "key == ALL_NAMES or not (ASTERISK_NAMES.contains(key) or key.contains(ASTERISK_NAMES))",
        "True",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("file", "before", "after"), MUTANTS, ids=lambda text: str(text).strip()[:40])
def test_a_fault_is_found(tmp_path: Path, file: str, before: str, after: str) -> None:
    for part in ("reconciler", "tests"):
        shutil.copytree(_ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_ROOT / "pyproject.toml", tmp_path)
    mutant = tmp_path / "reconciler" / "access" / file
    source = mutant.read_text(encoding="utf-8")
    assert source.count(before) == 1, "the fault no longer fits the code"
    mutant.write_text(source.replace(before, after), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *_TESTS]
    run = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, check=False
    )
    assert run.returncode == 1, run.stdout.decode()[-2_000:]


@pytest.mark.parametrize(
    ("file", "before"), [mutant[:2] for mutant in MUTANTS], ids=lambda text: str(text).strip()[:40]
)
def test_each_fault_still_fits_the_code(file: str, before: str) -> None:
    source = (_ROOT / "reconciler" / "access" / file).read_text(encoding="utf-8")
    assert source.count(before) == 1
