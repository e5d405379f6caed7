"""Names that a person takes for other names."""

from collections.abc import Iterator

from reconciler.access.lint.rule import PRINCIPAL, LintFinding, LintState, lint_rule
from reconciler.model.acl import ResourceType
from reconciler.model.characters import as_name, look_alikes
from reconciler.model.characters import mixed_scripts as scripts_of


@lint_rule(
    "KA020",
    "warning",
    "Two principals, or two names of one type, look alike and differ: one has a Cyrillic letter, or they are `al` and "
    "`a1`, `com` and `corn` (Unicode's skeletons, UTS 39). Names of bindings are compared, and the topics and "
    "principals that exist. *Evidence:* all spellings.",
    "Write the name that is meant; rename one of them if both are.",
)
def confusable(state: LintState) -> Iterator[LintFinding]:
    """Principals, and names of one resource type, that look alike."""
    for what, used in state.names.items():
        others = {PRINCIPAL: state.principals, ResourceType.TOPIC.noun: state.topics}.get(what) or frozenset()
        for alike in look_alikes(used.keys() | others if others else used.keys()):
            first, *rest = alike
            # The first spelling is the reference where it is used. Known only by name, each of the others is suspect.
            for other in rest if first in used else alike:
                if other in used:
                    shown = ", ".join(as_name(item) for item in alike if item != other)
                    yield confusable.found(
                        used[other],
                        f"the {what} {as_name(other)} looks like {shown}, and is another {what}",
                        "write the name that is meant",
                        related=tuple(used[item] for item in alike if item in used and item != other),
                        evidence=alike,
                    )


@lint_rule(
    "KA021",
    "warning",
    "One name has letters of scripts that nobody writes together, such as Latin and Cyrillic. The keys of a "
    "distinguished name, and Latin beside Chinese, Japanese or Korean, do not count.",
    "Type the name again in one script.",
)
def mixed_scripts(state: LintState) -> Iterator[LintFinding]:
    """Principals and names that mix scripts."""
    for what, used in state.names.items():
        for name, binding in used.items():
            scripts = scripts_of(name)
            if scripts:
                message = f"the {what} {as_name(name)} mixes letters of {' and '.join(scripts)}"
                yield mixed_scripts.found(binding, message, "type the name again in one script")
