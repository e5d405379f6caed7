"""Faults of ``reconciler/manifest`` that change nothing that anybody may rely on, each with the reason."""

from typing import Final

_GUARDRAILS: Final = "reconciler/manifest/guardrails.py"

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_MANIFEST: Final[dict[tuple[str, str, str, str], str]] = {
    (
        "reconciler/manifest/documents/topics.py",
        "_upon",
        "if not layers: return declared",
        "if False: return declared",
    ): "a shortcut: upon no layers it is the same topic",
    (
        _GUARDRAILS,
        "_Comparison._change",
        "self._new or self._old",
        "self._new",
    ): "a text without a place is a default that is lost, which only documents on both sides have",
    (
        _GUARDRAILS,
        "_Comparison._texts",
        "field.default or ()",
        "field.default",
    ): "for the type checker: a list without a default is on both sides here",
    (
        "reconciler/manifest/parts/document.py",
        "_missing",
        "info.description or ''",
        "info.description",
    ): "for the type checker: every field has a description",
    (
        "reconciler/manifest/parts/resources.py",
        "right_form",
        "16",
        "15",
    ): "the last of the eight groups begins at 14",
    (
        "reconciler/manifest/read/documents.py",
        "_Stumble.__init__",
        "1",
        "0",
    ): "how many lines before the mistake are looked at, one more or less",
}
