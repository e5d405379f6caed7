"""Secrets in a cluster's client settings: none in clear text, and references only where the operator wrote them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, ScalarNode, scalars
from reconciler.manifest.reader.problem import Problem
from reconciler.model.secret_permit import SecretPermit
from reconciler.model.secret_settings import SECRET_SETTINGS, clear_secret, has_reference

if TYPE_CHECKING:
    from reconciler.manifest.models.cluster import UserSecretsSpec

_CURE = "move client to a file for --connections, or trust whoever edits the manifests: --trust-manifest-connection"


def report_clear_secrets(spec: MappingNode, findings: Findings) -> None:
    """Report every secret in clear text. The line is shown with the value masked (``source.showable_lines``)."""
    for name, node in _secrets(spec):
        found = clear_secret(name, node.plain)
        if found is not None:
            message = f"{name} holds a secret in clear text: {found}"
            advice = "write ${env:NAME}, ${file:PATH:KEY} or ${dir:DIR:FILE}, and change the secret if others saw it"
            findings.add(Trouble(Code.CLEAR_TEXT, message, advice), node)


def warn_of_references(spec: MappingNode, findings: Findings) -> None:
    """Warn of references to secrets in a manifest: whoever edits it also edits the address that gets the secret."""
    for name, node in _secrets(spec):
        if has_reference(node.plain) and not findings.marks(node):
            trouble = Trouble(Code.REFERENCE_IN_MANIFEST, _message(name), _CURE)
            findings.add(trouble, node, severity="warning")


def referring_settings(declaration: ClusterDeclaration) -> tuple[Problem, ...]:
    """A problem for each setting of a manifest that refers to a secret."""
    probe = declaration.probe
    places = [(declaration.client, declaration.client_origins)]
    if probe is not None:
        places.append((probe.client, probe.client_origins))
    return tuple(
        Problem(Code.REFERENCE_IN_MANIFEST, origins.get(name, declaration.origin), _message(name), advice=_CURE)
        for client, origins in places
        for name in sorted(client)
        if name in SECRET_SETTINGS and has_reference(client[name])
    )


def declare_permit(spec: MappingNode, wanted: "UserSecretsSpec", findings: Findings) -> SecretPermit:
    """Which references of manifests the operator permits; a prefix or a directory that permits all is a problem."""
    for node in scalars(spec.get("userSecrets", "envPrefixes")):
        if not node.plain.strip() and not findings.marks(node):
            message = "an empty prefix permits every variable, those of other logins too"
            findings.add(Trouble(Code.WRONG_VALUE, message, "write a prefix such as KAFKA_USER_"), node)
    for node in scalars(spec.get("userSecrets", "directories")):
        if not (node.plain.startswith("/") and node.plain.strip("/.")) and not findings.marks(node):
            message = "this is no absolute path of a directory below /"
            findings.add(Trouble(Code.WRONG_VALUE, message, "write one such as /run/secrets/kafka-users"), node)
    return SecretPermit(tuple(wanted.env_prefixes), tuple(wanted.directories), wanted.verify == "login")


def _message(name: str) -> str:
    return f"{name} refers to a secret in a manifest, which also says where it is sent: the reference is not followed"


def _secrets(spec: MappingNode) -> Iterator[tuple[str, ScalarNode]]:
    for client in (spec.get("client"), spec.get("barrier", "client")):
        for name, node in client.values.items() if isinstance(client, MappingNode) else ():
            if name in SECRET_SETTINGS and isinstance(node, ScalarNode):
                yield name, node
