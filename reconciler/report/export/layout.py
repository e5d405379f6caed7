"""Which file each ACL and topic of a conversion goes to: by principal, source file or module, team, or all to one."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from reconciler.codec.kinds import KINDS
from reconciler.model import WILDCARD_PRINCIPAL, AclBinding, ClusterState
from reconciler.report.export.file_names import stem

Layout = Literal["principal", "source", "team", "single"]
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)
#: What names a kind of account and no team.
_KINDS_OF_ACCOUNT: Final = frozenset(("svc", "sa", "srv", "service", "app", "user", "usr", "client", "kafka"))
#: Products around Kafka that people call principals by, and words for those who run it: no team is called so.
NO_TEAMS: Final = frozenset(
    (
        *("admin", "akhq", "anonymous", "broker", "brokers", "burrow", "connect", "control", "cruise", "exporter"),
        *("kafdrop", "kminion", "ksql", "ksqldb", "mirror", "mirrormaker", "mm2", "monitoring", "prometheus"),
        *("registry", "replicator", "rest", "root", "schema", "schemas", "super", "ui", "zookeeper"),
    )
)
_BREAK: Final = re.compile(r"[._-]")
_MODULE: Final = re.compile(r"module\.([\w-]+)(?:\[[^\]]*\])?\.")
#: Files that a conversion writes anyway.
_TAKEN: Final = frozenset(
    (
        "cluster",
        "not-converted",
        "not-exported",
        "ownership-draft",
        "roles",
        "topics-absent",
        *(kind.file_stem for kind in KINDS),
    )
)


def places(layout: Layout, state: ClusterState, origins: Mapping[AclBinding | str, str]) -> dict[AclBinding | str, str]:
    """The path without its ending for each binding and topic name; none for what goes to its usual file.

    ``origins`` says where the source has each: ``file:line``, or ``file:address`` in a Terraform state.
    """
    match layout:
        case "principal":
            return {}
        case "single":
            items: Iterable[AclBinding | str] = (*state.bindings, *state.topics)
            return dict.fromkeys(items, "manifests")
        case "source":
            return {item: place for item, origin in origins.items() if (place := _of_origin(origin))}
        case "team":
            return _by_team(state)


def _of_origin(origin: str) -> str:
    """The file, or in a Terraform state the module: a state is one file, whatever it was made from."""
    file, _, address = origin.partition(":")
    parts = (
        (() if file.endswith(".tf") else _MODULE.findall(address)) or file.rpartition(".")[0].split("/")
        if "." in file
        else [file]
    )
    place = "/".join(stem(part).lower() for part in parts)
    return f"{place}-source" if place in _TAKEN else place


def _by_team(state: ClusterState) -> dict[AclBinding | str, str]:
    principals = {binding.entry.principal for binding in state.bindings}
    team_of = teams(principals)
    known = _borne_out(state, team_of)
    found: dict[AclBinding | str, str] = {
        binding: f"teams/{team_of[binding.entry.principal]}"
        for binding in state.bindings
        if team_of[binding.entry.principal] in known
    }
    for name in state.topics:
        team = first_word(name)
        if team in known:
            found[name] = f"teams/{team}"
    return found


def _borne_out(state: ClusterState, team_of: Mapping[str, str]) -> set[str]:
    """The teams that more than the word of one principal speaks for: another principal, or names of resources."""
    principals = Counter(team_of[principal] for principal in team_of if principal != WILDCARD_PRINCIPAL)
    named = {first_word(name) for name in state.topics}
    named |= {
        word
        for pattern, entry in state.bindings
        if not pattern.is_wildcard and (word := first_word(pattern.name)) == team_of[entry.principal]
    }
    return {team for team, count in principals.items() if team not in NO_TEAMS and (count > 1 or team in named)}


def first_word(name: str) -> str:
    """The team that a name of a resource begins with, if there is one."""
    return stem(_BREAK.split(name)[0]).lower()


def teams(principals: Iterable[str]) -> dict[str, str]:
    """A team for each principal, as its name begins: ``User:CN=payments/mail`` and ``User:svc-payments-mail`` alike."""
    words = {principal: _words(principal) for principal in principals}
    while len(words) > 1 and all(len(found) > 1 for found in words.values()):
        if len({found[0] for found in words.values()}) > 1:
            break
        words = {principal: found[1:] for principal, found in words.items()}
    return {principal: stem(found[0]).lower() for principal, found in words.items()}


def _words(principal: str) -> list[str]:
    if principal == WILDCARD_PRINCIPAL:
        return ["everyone"]
    name = principal.partition(":")[2].partition(",")[0]
    name = name.partition("=")[2] or name
    if "/" in name:
        return [name.partition("/")[0] or name]
    words = [word for word in _BREAK.split(name) if word]
    return words[1:] if len(words) > 1 and words[0].lower() in _KINDS_OF_ACCOUNT else words or [name]
