"""The known faults: what stands in the code, what stands there instead, and the law that this breaks."""

from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]


class Mutant(NamedTuple):
    """A fault in ``file`` (below ``reconciler/``), and the tests that must notice it."""

    file: str
    before: str
    after: str
    law: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """The source with the fault; raises ``ValueError`` where the text does not occur exactly once."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.file}: the fault “{self.law}” no longer fits the code")
        return source.replace(self.before, self.after)


_HOSTS: Final = ("tests/property/test_hosts.py",)
_ORDER: Final = ("tests/unit/plan/test_phases.py",)
_DEFAULT: Final = ("tests/unit/apply/test_default_allow.py",)
_BRIDGES: Final = ("tests/unit/plan/test_bridging.py",)
_DEFECTS: Final = ("tests/property/test_broker_defects.py",)

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
        "return any(found.holds(own) for found in outer)",
        "return any(found.contains(IpAddress(own.width, own.first)) for found in outer)",
        "a range is within another only with all of its addresses",
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
        "apply/default_allow.py",
        "if declared is not None and observed",
        "if declared and observed",
        "a declared off is held against what was observed too",
        _DEFAULT,
    ),
    Mutant(
        "apply/default_allow.py",
        "observed is not DefaultAllow.OFF:",
        "observed is DefaultAllow.ON:",
        "default-allow that nobody declared and nobody saw is not off",
        _DEFAULT,
    ),
    Mutant(
        "plan/default_allow/bridging.py",
        "pattern.resource_type is ResourceType.TOPIC and self.ground.live.topic_gap",
        "False",
        "where topics are hidden, the plan says so of a pattern that it cannot bridge",
        _BRIDGES,
    ),
    Mutant(
        "plan/default_allow/bridging.py",
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
)
