"""The kind ``ClusterTests``: claims about configs of brokers and features of clusters, which nothing changes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, Kind
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import BYTES, MILLISECONDS, amount, in_range, integer
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.selectors import StatedException, declare_test_exceptions
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, Trouble, paired, quoted, scalars
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import Origin
from reconciler.model.flavor import FIRST_LEVELS, release_text

if TYPE_CHECKING:
    from reconciler.manifest.models.cluster_tests import ClusterTestItem, ClusterTestsDocument

METADATA_VERSION: Final = "metadata.version"
_LEVELS: Final = {release_text(release): level for level, release in FIRST_LEVELS}
_MOST: Final = 2**15 - 1
_CLAIM = Trouble(Code.TEST_FORM, "the test claims nothing", "add configs or features")
_LIMIT = Trouble(Code.TEST_FORM, "this asks nothing of the config", "write a value, or allowed, min or max")
_MIXED = Trouble(Code.TEST_FORM, "allowed is for single values, min and max for numbers", "keep one of the two")
_ORDER = Trouble(Code.TEST_FORM, "no value is both at least min and at most max", "exchange them")


@dataclass(frozen=True, slots=True)
class ClusterTest:
    """One claim about one config or one feature; a test with several is several of these with one name.

    A config is held against ``allowed``, single values, or against ``least`` and ``most``; a feature against
    ``least``. ``words`` is what is asked, as it is written. ``origin`` is the place of the config's or feature's name.
    """

    document: str
    name: str
    origin: Origin
    key: str
    words: str
    is_feature: bool = False
    allowed: tuple[str, ...] | None = None
    least: int | None = None
    most: int | None = None
    severity: Literal["error", "warning"] = "error"
    exception: StatedException | None = None


@dataclass(frozen=True, slots=True)
class ClusterTestsDeclaration:
    """A document's heading and claims."""

    heading: Heading
    tests: tuple[ClusterTest, ...]


class ClusterTestsKind(Kind["ClusterTestsDocument"]):
    """Claims about clusters; ``reconciler.app.cluster_tests`` decides them."""

    name = "ClusterTests"

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model, findings = document.validated(ClusterTestsKind.model()), document.findings
        tests: list[ClusterTest] = []
        first: dict[str, Origin] = {}
        for node, item in paired(document.spec.get("tests"), model.spec.tests if model else None):
            name = node.get("name")
            if isinstance(name, ScalarNode) and first.setdefault(name.plain, findings.origin(name)) != findings.origin(
                name
            ):
                trouble = Trouble(Code.TEST_FORM, f"there is another test {quoted(name.plain)}", "rename one of them")
                findings.add(trouble, name, related=[first[name.plain]])
            tests += _claims(document.heading.name, node, item, findings)
        accepted = declare_test_exceptions(document.spec, model.spec.exceptions if model else None, findings)
        tests = [replace(test, exception=accepted.get(test.name)) for test in tests]
        return ClusterTestsDeclaration(document.heading, tuple(tests)) if model else None


def _claims(
    document: str, node: MappingNode, item: "ClusterTestItem | None", findings: Findings
) -> Iterator[ClusterTest]:
    if not any(isinstance(found := node.get(field), MappingNode) and found.values for field in ("configs", "features")):
        findings.add(_CLAIM, node)
    for field in ("configs", "features"):
        claims = node.get(field)
        for key, value in claims.values.items() if isinstance(claims, MappingNode) else ():
            place = claims.keys[key] if isinstance(claims, MappingNode) else value
            read = _feature if field == "features" else _config
            words, allowed, least, most = read(key, value, place, findings)
            if item is not None:
                yield ClusterTest(
                    document,
                    item.name,
                    findings.origin(place),
                    key,
                    words,
                    field == "features",
                    allowed,
                    least,
                    most,
                    item.severity,
                )


_Asked = tuple[str, tuple[str, ...] | None, int | None, int | None]


def _config(name: str, value: Node, place: Node, findings: Findings) -> _Asked:
    if isinstance(value, ScalarNode):
        return f"is {value.plain or 'empty'}", (value.plain,), None, None
    if not isinstance(value, MappingNode):
        return "", None, None, None
    allowed = tuple(one.plain for one in scalars(value.get("allowed"))) or None
    least, most = (_number(name, value.get(field), findings) for field in ("min", "max"))
    bounds = value.keys.keys() & {"min", "max"}
    if allowed is not None and bounds:
        findings.add(_MIXED, place)
    elif allowed is None and not bounds and not value.keys:
        findings.add(_LIMIT, place)
    elif least is not None and most is not None and least > most:
        findings.add(_ORDER, value.get("min") or place)
    if allowed is not None:
        return f"is {' or '.join(one or 'empty' for one in allowed)}", allowed, None, None
    sides = {"min": "at least", "max": "at most"}
    words = [f"{said} {text}" for field, said in sides.items() if (text := value.text(field)) is not None]
    return f"is {' and '.join(words)}", None, least, most


def _number(name: str, node: Node | None, findings: Findings) -> int | None:
    if not isinstance(node, ScalarNode) or findings.marks(node):
        return None
    try:
        number = config_number(name, node.plain)
    except ValueError as error:
        message, _, advice = str(error).partition(": ")
        findings.add(Trouble(Code.SETTING_VALUE, f"{name}: {message}", advice), node)
        return None
    if number < 0:
        # Brokers mean "no limit" or "not set" by a negative number: it is no bound of others.
        advice = f"write the value itself, {name}: {node.plain}, or allowed: [{node.plain}]"
        findings.add(Trouble(Code.TEST_FORM, f"{name}: {node.plain} is no bound", advice), node)
        return None
    return number


def first_level(release: str) -> int | None:
    """The first level of ``metadata.version`` that a release has; ``None`` where no such release is known."""
    return _LEVELS.get(release)


def config_number(name: str, text: str) -> int:
    """A value as a number, units resolved: Kafka's names end in what they count. Raises ``ValueError`` in words."""
    if name.endswith(".ms"):
        return amount(text, MILLISECONDS)
    return amount(text, BYTES) if name.endswith(".bytes") else integer(text)


def _feature(name: str, value: Node, place: Node, findings: Findings) -> _Asked:
    node = value.get("min") if isinstance(value, MappingNode) else None
    if not isinstance(node, ScalarNode) or findings.marks(node):
        return "", None, None, None
    level = first_level(node.plain) if name == METADATA_VERSION else None
    if level is not None:
        return f"is at least {node.plain} (level {level})", None, level, None
    if name == METADATA_VERSION and "." in node.plain:
        known = [*_LEVELS]
        message = f"{quoted(node.plain)} is no release that is known: {known[0]} to {known[-1]} are"
        findings.add(Trouble(Code.WRONG_VALUE, message, "write one of them, or the level as a number"), node)
        return "", None, None, None
    try:
        level = in_range(integer(node.plain), 1, _MOST)
    except ValueError as error:
        message, _, advice = str(error).partition(": ")
        findings.add(Trouble(Code.WRONG_VALUE, message, advice), node)
        return "", None, None, None
    return f"is at least level {level}", None, level, None
