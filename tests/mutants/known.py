"""The known faults: what stands in the code, what stands there instead, and the law that this breaks."""

from typing import Final

from tests.mutants.known_access import KNOWN_OF_ACCESS
from tests.mutants.mutant import Mutant

_HOSTS: Final = ("tests/property/test_hosts.py",)
_ORDER: Final = ("tests/unit/plan/test_phases.py",)
_DEFAULT: Final = ("tests/unit/apply/test_default_allow.py",)
_BRIDGES: Final = ("tests/unit/plan/test_bridging.py",)
_DEFECTS: Final = ("tests/property/test_broker_defects.py",)
_ASSERTIONS: Final = ("tests/unit/access/test_assertions.py", "tests/property/test_access_assertions.py")
_REVIEW: Final = ("tests/property/test_access_review.py", "tests/unit/plan/test_renames.py")
_REMOVAL: Final = (
    "tests/unit/apply/test_bridge_removal.py",
    "tests/unit/apply/test_bridges.py",
    "tests/unit/apply/test_bridge_watching.py",
    "tests/unit/apply/test_bridge_failures.py",
)
_ACCESS: Final = (
    "tests/unit/access",
    "tests/unit/conformance/test_access_conformance.py",
    "tests/property/test_access_authorizer.py",
    "tests/property/test_access_difference.py",
    "tests/property/test_access_assertions.py",
    "tests/property/test_access_effective.py",
    "tests/property/test_access_opaque.py",
    "tests/property/test_broker_defects.py",
)
_LINT: Final = ("tests/unit/access/test_lint.py",)

KNOWN: Final = (
    Mutant(
        "access/hosts.py",
        "if length >= 0)",
        "if length > 0)",
        "a range of length 0 contains every address of its width",
        _HOSTS,
    ),
    Mutant(
        "access/hosts.py",
        "number = max(number, last + 1)",
        "number = last + 1",
        "the lowest free address is behind every range before it, nested ones too",
        _HOSTS,
    ),
    Mutant(
        "access/hosts.py",
        "width == own.width and length <= own.length:",
        "width == own.width and length < own.length:",
        "a range is within itself, and an address in a range of that address alone",
        _HOSTS,
    ),
    Mutant(
        "access/broker_defects.py",
        "b.pattern.name <= WILDCARD for changes",
        "b.pattern.name < WILDCARD for changes",
        "PREFIXED * changes which names a scan reaches",
        _DEFECTS,
    ),
    Mutant(
        "plan/order.py",
        "() if default_allow is False else",
        "() if not default_allow else",
        "default-allow that nobody declared is not off: revocations wait for their topics",
        _ORDER,
    ),
    Mutant(
        "apply/bridges.py",
        "if declared is not None and observed",
        "if declared and observed",
        "a declared off is held against what was observed too",
        _DEFAULT,
    ),
    Mutant(
        "apply/bridges.py",
        "observed is not DefaultAllow.OFF:",
        "observed is DefaultAllow.ON:",
        "default-allow that nobody declared and nobody saw is not off",
        _DEFAULT,
    ),
    Mutant(
        "plan/bridges.py",
        "pattern.resource_type is ResourceType.TOPIC and self.ground.live.topic_gap",
        "False",
        "where topics are hidden, the plan says so of a pattern that it cannot bridge",
        _BRIDGES,
    ),
    Mutant(
        "plan/bridges.py",
        "if not is_reserved(name) and not index",
        "if not index",
        "reserved names get no bridge",
        _BRIDGES,
    ),
    Mutant(
        "plan/phase.py",
        "    (Phase.DELETE_DENY,),\n",
        "",
        "what DELETE_LAST removes goes after every broker stopped enforcing the deleted DENYs",
        _ORDER,
    ),
    Mutant(
        "access/assertions.py",
        "kinds = {pattern.resource_type, ResourceType.CLUSTER, ResourceType.TOPIC}",
        "kinds = {pattern.resource_type, ResourceType.TOPIC}",
        "whoever has rights on the cluster alone is asked about, too",
        _ASSERTIONS,
    ),
    Mutant(
        "access/assertions.py",
        "return bool(table.at_names(ASTERISK_NAMES) >> operation + DENIED & 1)",
        "return True",
        "a DENY on all names need not cover those that begin with *",
        _ASSERTIONS,
    ),
    Mutant(
        "plan/review/access_change.py",
        "[: MAX_REACHED - bool(losing)]",
        "[:MAX_REACHED]",
        "however many gain, one who loses is shown",
        _REVIEW,
    ),
    Mutant(
        "plan/order.py",
        "(*row.resources.cuts, *other.resources.cuts))",
        "row.resources.cuts)",
        "a name that settles a suspicion is in the cuts of neither",
        _REVIEW,
    ),
    Mutant(
        "plan/review/access_change.py",
        "live.bindings.difference(own) if own else live.bindings",
        "live.bindings",
        "probe ACLs and marks give nobody access",
        _REVIEW,
    ),
    Mutant(
        "apply/bridges.py",
        " and _denies(there) <= _denies(first) | _denies(last)",
        "",
        "a bridge stays while a foreign DENY is there",
        _REMOVAL,
    ),
    Mutant(
        "apply/bridges.py",
        "if not is_reserved(binding.pattern.name):",
        "if binding:",
        "probe ACLs hold no bridge",
        _REMOVAL,
    ),
    Mutant(
        "access/lint/covering.py",
        "if self._authorizer.interpretations.most.default_allow or not self._authorizer.interpretations.known:",
        "if False:",
        "under default-allow, known or possible, a DENY is never without effect",
        _LINT,
    ),
    Mutant(
        "access/names.py",
        "return 0 if prefix[:1] == WILDCARD else self.base",
        "return self.base",
        "names below a prefix that begins with * are not reached by the wildcard's bindings",
        _ACCESS,
    ),
    Mutant(
        "access/names.py",
        "else 0 if text[0] == WILDCARD else self.base",
        "else self.base",
        "a name that begins with * is not reached by the wildcard's bindings",
        _ACCESS,
    ),
    Mutant(
        "access/difference.py",
        "1 << AclOperation.WRITE | 1 << AclOperation.WRITE + DENIED",
        "1 << AclOperation.WRITE",
        "a DENY of WRITE on a topic changes who may write somewhere",
        _ACCESS,
    ),
    Mutant(
        "access/difference.py",
        "hidden = before.super_users | after.super_users",
        "hidden = before.super_users & after.super_users",
        "a principal that is a super user on one side alone is compared as itself",
        _ACCESS,
    ),
    *KNOWN_OF_ACCESS,
)
