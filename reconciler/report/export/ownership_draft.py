"""A proposed ``Ownership`` for manifests laid out by team, as comments: it decides nothing until you want it."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from reconciler.manifest import FIELD_OF
from reconciler.model import AclBinding, ClusterState, PatternType
from reconciler.report.export.layout import teams
from reconciler.report.export.yaml_text import comment, document_head, one_or_list, scalar

DRAFT_FILE: Final = "ownership-draft.yaml"
_HEAD: Final = (
    "A draft: which team's files may name what (docs/manifests.md, Ownership). Remove the first two characters of",
    "each line below, and what is not right. Patterns that cover topics of several teams need a file of no team.",
)


def ownership_draft(state: ClusterState, places: Mapping[AclBinding | str, str]) -> str:
    """The text of the file; each team owns its principals and the topics in its file, and consents to what there is."""
    team_of = teams({binding.entry.principal for binding in state.bindings})
    topics: dict[str, list[str]] = defaultdict(list)
    for item, place in sorted((item, place) for item, place in places.items() if isinstance(item, str)):
        topics[place.rpartition("/")[2]].append(item)
    owner_of = {name: team for team, names in topics.items() for name in names}
    given: dict[str, dict[tuple[str, tuple[str, ...]], list[str]]] = defaultdict(lambda: defaultdict(list))
    for (to, name), used in sorted(_used(state, team_of, owner_of).items()):
        given[owner_of[name]][to, tuple(sorted(used))].append(name)
    lines = [*document_head("Ownership", "teams"), "  owners:"]
    for team in sorted(set(team_of.values())):
        principals = sorted(principal for principal, found in team_of.items() if found == team)
        lines += [f"    - team: {scalar(team)}", f"      files: {scalar(f'teams/{team}.yaml')}"]
        lines += one_or_list("principals", principals, 6, always_list=True)
        lines += one_or_list("topics", topics[team], 6, always_list=True) if topics[team] else []
        if given[team]:
            lines.append("      consents:")
        for (to, operations), names in given[team].items():
            lines += [f"        - to: {scalar(to)}", f"          operations: [{', '.join(operations)}]"]
            lines += one_or_list("topics", names, 10, always_list=True)
    return "\n".join([*map(comment, _HEAD), "#", *(comment(line) for line in lines)]) + "\n"


def _used(
    state: ClusterState, team_of: Mapping[str, str], owner_of: Mapping[str, str]
) -> dict[tuple[str, str], set[str]]:
    """The operations that each team is granted on each topic of another team, by its name."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pattern, entry in state.bindings:
        to, owner = team_of[entry.principal], owner_of.get(pattern.name)
        named = FIELD_OF[pattern.resource_type] == "topics" and pattern.pattern_type is PatternType.LITERAL
        if named and owner not in (None, to):
            found[to, pattern.name].add(entry.operation.name)
    return found
