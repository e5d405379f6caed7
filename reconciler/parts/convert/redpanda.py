"""Redpanda: ``rpk security acl list``, as a table or as JSON or YAML, and the ``User`` and ``Topic`` of its operator.

Sources: ``rpk``'s ``acl/list.go`` and Redpanda operator's API ``cluster.redpanda.com/v1alpha2`` (``user_types.go``,
``client/users/client.go``), whose rules have the form of Strimzi's.
"""

import re
from typing import Final

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceFiles, Tree
from reconciler.parts.convert.strimzi import add_other_kind, add_rules, resources

_GROUP: Final = "cluster.redpanda.com"
_COLUMN: Final = re.compile(r"\S+")
#: What a table needs; ``PATTERN-TYPE`` is how older versions of rpk call ``RESOURCE-PATTERN-TYPE``.
_NEEDED: Final = frozenset(("PRINCIPAL", "HOST", "RESOURCE-TYPE", "RESOURCE-NAME", "OPERATION", "PERMISSION"))
_PATTERN_TYPES: Final = ("RESOURCE-PATTERN-TYPE", "PATTERN-TYPE")
_USER: Final = {
    "quotas": "quotas of users are not converted: declare them as Quotas",
    "template": "Kubernetes fields of a user are not managed",
    "cluster": "the manifests are of one cluster",
}
#: What it sets where a user says nothing: ``UserAuthenticationSpec.Type``, ``Client.create``.
_MECHANISM, _ITERATIONS = "scram-sha-512", "4096"
#: Where a password comes from, and what is done with it: nothing here.
_PASSWORD: Final = ("value", "valueFrom", "noGenerate")
_CLUSTER: Final = {"cluster": "the manifests are of one cluster", "kafkaApiSpec": "how the operator logs in"}


def read_redpanda(files: SourceFiles, conversion: Conversion) -> None:
    """Every file: a table where a line has its headings, else YAML or JSON."""
    for name in files.ending(".txt", ".out", ".yaml", ".yml", ".json"):
        if not name.lower().endswith((".yaml", ".yml", ".json")) or table_columns(files.text(name)) is not None:
            _table(name, files.text(name), conversion)
            continue
        for tree in conversion.rendered(files, name):
            if tree.is_mapping() and "matches" in tree.names():
                for item in tree.items("matches"):
                    _match(item, conversion)
            elif tree.is_mapping():
                for node in resources([tree]):
                    _resource(node, conversion)
            else:
                for item in tree.items():
                    _match(item, conversion)


def table_columns(text: str) -> dict[str, int] | None:
    """The columns of the first line that names them all, with the place where each begins."""
    for line in text.splitlines():
        columns = {match.group(): match.start() for match in _COLUMN.finditer(line)}
        if columns.keys() >= _NEEDED:
            return columns
    return None


def _table(name: str, text: str, conversion: Conversion) -> None:
    """The rows below the headings; a line before them, or one that the columns do not fit, is skipped with a remark."""
    columns: dict[str, int] = {}
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        where = f"{name}:{number}"
        if (headings := table_columns(line)) is not None:
            columns = headings
        elif not line.strip() or (set(line.strip()) == {"="}) or line.strip() in ("MATCHES", "FILTERS"):
            # Titles that rpk prints where filters are asked for; what a filter's rows say is no ACL.
            columns = columns if line.strip() not in ("MATCHES", "FILTERS") else {}
        elif not columns or (row := _row(line, columns)) is None:
            conversion.skip(where, line.strip()[:80], "not a row of rpk's table")
        else:
            form = next((row[column] for column in _PATTERN_TYPES if column in row), "LITERAL")
            conversion.add_binding(
                row["PRINCIPAL"],
                Resource(row["RESOURCE-TYPE"], row["RESOURCE-NAME"], form),
                (row["OPERATION"],),
                where,
                permission=row["PERMISSION"],
                host=row["HOST"],
            )


def _row(line: str, columns: dict[str, int]) -> dict[str, str] | None:
    """The cells of a row, ``None`` if it does not fit: a cell begins where its heading does, two spaces after the last.

    A name can hold spaces, so places count and not words.
    """
    starts = sorted(columns.values())
    if any(line[start - 2 : start].strip() for start in starts if start):
        return None
    ends = [*starts[1:], len(line)]
    cells = {start: line[start:end].strip() for start, end in zip(starts, ends, strict=True)}
    return {column: cells[start] for column, start in columns.items()}


def _match(item: Tree, conversion: Conversion) -> None:
    forms = ("resource_pattern_type", "pattern_type")
    form = next((item.text(field) for field in forms if field in item.names()), None)
    conversion.add_binding(
        item.text("principal") or "",
        Resource(item.text("resource_type") or "", item.text("resource_name") or "", form or "LITERAL"),
        (item.text("operation") or "",),
        item.where,
        permission=item.text("permission") or "",
        host=item.text_or("*", "host"),
    )


def _resource(node: Tree, conversion: Conversion) -> None:
    group = (node.text("apiVersion") or "").partition("/")[0]
    name, kind, spec = node.text("metadata", "name") or "", node.text("kind"), node.get("spec")
    if group == _GROUP and kind == "User":
        _user(name, spec, conversion)
    elif group == _GROUP and kind == "Topic":
        conversion.set_aside(spec, _CLUSTER)
        configs = spec.settings("additionalConfig")
        full = spec.text("overwriteTopicName") or name
        conversion.add_topic(full, spec.text("partitions"), spec.text("replicationFactor"), configs, node.where)
        spec.ignore("interval", "metricsNamespace")
    else:
        add_other_kind(node, conversion, "neither a User nor a Topic of Redpanda's operator")


def _user(name: str, spec: Tree, conversion: Conversion) -> None:
    """A user with its ACLs; the operator creates none where nothing is said of authentication."""
    if spec.text("usernameOverride") is not None:
        conversion.skip(spec, f"User {name}", "it has usernameOverride, so it is another principal")
        return
    conversion.set_aside(spec, _USER)
    if "authentication" in spec.names():
        authentication = spec.get("authentication")
        mechanism = authentication.text("type") or _MECHANISM
        conversion.add_user(name, mechanism, _ITERATIONS, authentication.where)
        authentication.get("password").ignore(*_PASSWORD)
    authorization = spec.get("authorization")
    method = authorization.text("type")
    if method not in (None, "simple"):
        conversion.skip(authorization, f"User {name}", f"authorization {method!r} is not known")
    else:
        add_rules(f"User:{name}", f"User {name}", authorization, conversion)
