"""Live SCRAM users as one ``Users`` document, without passwords: Kafka tells none."""

from collections.abc import Iterator
from typing import Final

from reconciler.codec.kinds import json_kind
from reconciler.manifest.kinds.users import user_name_problem
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.report.export.expressible import text_problem
from reconciler.report.export.kinds.interface import Kind
from reconciler.report.export.kinds.listed import ListedKind
from reconciler.report.export.yaml_text import scalar


def user_problem(user: ScramUser) -> str | None:
    """Why no manifest can declare a live user; ``None`` if one can."""
    unknown = next((name for name in user.values if not user.understands(name)), None)
    if unknown is not None:
        return f"no manifest has {unknown}"
    if user.disabled and user.disabled != user.values.keys():
        return f"{' and '.join(sorted(user.disabled))} is disabled, and not its other mechanism"
    trouble, refused = user_name_problem(user.name), user.refusal()
    return text_problem(user.name) or (trouble and trouble.message) or (refused and refused.message)


def _item(user: ScramUser) -> Iterator[str]:
    yield f"    - name: {scalar(user.name)}"
    if user.disabled:
        yield f"      mechanisms: {{{', '.join(f'{name}: {{}}' for name in user.values)}}}"
        yield "      disabled: true"
        return
    yield "      # Without password or salt and saltedPassword a user is compared, and never created."
    yield "      mechanisms:"
    yield from (f"        {name}: {{iterations: {iterations}}}" for name, iterations in user.values.items())


KIND: Final[Kind] = ListedKind(json_kind(ScramUser), "Users", "users", user_problem, _item, ScramUser)
