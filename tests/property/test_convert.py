"""What ``kafka-acls.sh --list`` prints of any cluster reads back as the same bindings."""

from collections import defaultdict
from pathlib import Path

from hypothesis import given

from reconciler.model.acl import AclBinding, ResourcePattern
from reconciler.model.state import ClusterState
from reconciler.parts.convert.files import STDIN, SourceFiles
from reconciler.parts.convert.recognition import convert
from tests.property.strategies import states, wild_states


def printed(state: ClusterState) -> str:
    """As ``AclCommand`` of Kafka 4 prints it: a head for each pattern, the first entry after a space."""
    entries: dict[ResourcePattern, list[str]] = defaultdict(list)
    for pattern, entry in sorted(state.bindings):
        entries[pattern].append(
            f"(principal={entry.principal}, host={entry.host}, operation={entry.operation.name}, "
            f"permissionType={entry.permission_type.name})"
        )
    return "\n".join(
        f"Current ACLs for resource `ResourcePattern(resourceType={pattern.resource_type.name}, name={pattern.name}, "
        f"patternType={pattern.pattern_type.name})`: \n \t" + "\n\t".join(lines) + " \n"
        for pattern, lines in entries.items()
    )


@given(states())
def test_ordinary_states(state: ClusterState) -> None:
    check(state)


@given(wild_states)
def test_whatever_its_names_hold(state: ClusterState) -> None:
    check(state)


def check(state: ClusterState) -> None:
    """A name that holds a line break cannot be told apart: then something is left, and nothing is invented."""
    broken = frozenset(binding for binding in state.bindings if "\n" in _texts(binding))
    found = convert("kafka-acls", SourceFiles(Path(), (STDIN,), stdin=printed(state)))
    if broken:
        assert found.skipped
    else:
        assert found.bindings == state.bindings
        # A listing without any ACL is said to be one, because it may be the wrong file.
        assert bool(found.skipped) is not bool(state.bindings)


def _texts(binding: AclBinding) -> str:
    return f"{binding.pattern.name} {binding.entry.principal} {binding.entry.host}"
