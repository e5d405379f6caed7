"""A lint rule: its code, severity, documentation and check in one value, and what a check may look at."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

from reconciler.access.authorizer import Authorizer, Note
from reconciler.access.lint.covering import Covering
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding, AclPermissionType, ResourceType
from reconciler.model.desired import Declaration, Origin
from reconciler.model.flavor import APACHE
from reconciler.model.listing import ListedItem
from reconciler.model.scope import Scope, Selector

#: What :attr:`LintState.names` calls principals.
PRINCIPAL: Final = "principal"
#: ``error``: the binding cannot be meant as it is. ``warning``: it may be.
Severity: TypeAlias = Literal["error", "warning"]
#: What removing the bindings that a rule finds does. ``same``: access stays the same, which is proven first.
#: ``asked``: it changes access, or gives up a guard against later changes, so only somebody who names the rule gets it.
#: ``none``: what to do is for people to say.
Fix: TypeAlias = Literal["same", "asked", "none"]


@dataclass(frozen=True)
class LintState:
    """What rules look at. ``topics`` and ``principals`` are all that exist, ``None`` where that is not known.

    Without ``as_of`` nothing expires. ``principal_types`` are those that the cluster's brokers know. ``listed`` are
    resources of listed kinds, as far as they are known, each with the place that declares it. ``users`` are the names
    of all who can log in, where manifests declare them all.
    """

    authorizer: Authorizer
    topics: frozenset[str] | None = None
    principals: frozenset[str] | None = None
    as_of: datetime.date | None = None
    soon: datetime.timedelta = datetime.timedelta(days=30)
    principal_types: frozenset[str] = APACHE.principal_types
    listed: tuple[tuple[ListedItem, Origin | None], ...] = ()
    users: frozenset[str] | None = None

    def about(self, authorizer: Authorizer) -> "LintState":
        """The same bindings where facts about the cluster are in doubt (:meth:`Authorizer.doubting`)."""
        other = replace(self, authorizer=authorizer)
        # What is known of the bindings alone stays, and costs most.
        kept = ("bindings", "allows", "names", "redundant", "shadowed")
        other.__dict__.update((name, self.__dict__[name]) for name in kept if name in self.__dict__)
        return other

    @cached_property
    def bindings(self) -> tuple[AclBinding, ...]:
        """All bindings, sorted."""
        return tuple(sorted(self.authorizer.interpretations.bindings))

    @cached_property
    def allows(self) -> tuple[AclBinding, ...]:
        """All ALLOW bindings, sorted."""
        allows = [binding for binding in self.bindings if binding.entry.permission_type is AclPermissionType.ALLOW]
        return self.bindings if len(allows) == len(self.bindings) else tuple(allows)

    @cached_property
    def redundant(self) -> dict[AclBinding, tuple[AclBinding, ...]]:
        """Redundant bindings, each with those that cover it; in no order: findings are sorted.

        Other rules about coverage leave these out.
        """
        covering = self._covering
        redundancies = ((item, covering.redundancy(item)) for _, group in self._groups() for item in sorted(group))
        return {item: by for item, by in redundancies if by}

    @cached_property
    def shadowed(self) -> dict[AclBinding, tuple[AclBinding, ...]]:
        """ALLOWs that are not redundant and that DENYs cover, each with those."""
        covering, deny = self._covering, AclPermissionType.DENY
        of = self.authorizer.interpretations.bindings_of
        denying = {kind for kind in ResourceType if any(item[1][3] is deny for item in of(kind, WILDCARD_PRINCIPAL))}
        shadows = (
            (item, covering.shadow(item))
            for kind, group in self._groups()
            if kind in denying or any(item[1][3] is deny for item in group)
            for item in sorted(group)
            if item[1][3] is not deny and item not in self.redundant
        )
        return dict(sorted((item, by) for item, by in shadows if by))

    @property
    def _covering(self) -> Covering:
        """The bindings, asked for those that cover another one: of one principal after the other."""
        return Covering(self.authorizer.interpretations.bindings_of, self.authorizer.covering_version, remembered=1)

    def _groups(self) -> Iterator[tuple[ResourceType, Collection[AclBinding]]]:
        """The bindings of each principal on each resource type."""
        interpretations = self.authorizer.interpretations
        for kind, principal in interpretations.group_keys():
            yield kind, interpretations.bindings_of(kind, principal)

    @cached_property
    def names(self) -> dict[str, dict[str, AclBinding]]:
        """Principals, and the names of each resource type by its noun, each with its first binding."""
        names: dict[str, dict[str, AclBinding]] = {PRINCIPAL: {}, **{kind.noun: {} for kind in ResourceType}}
        principals, by_type = names[PRINCIPAL], {kind: names[kind.noun] for kind in ResourceType}
        for binding in self.bindings:
            pattern, entry = binding
            principals.setdefault(entry[0], binding)
            by_type[pattern[0]].setdefault(pattern[1], binding)
        return {what: used for what, used in names.items() if used}


@dataclass(frozen=True, slots=True)
class LintRule:
    """A rule. ``code`` (``KA009``) and ``name`` (``everybody``) are stable and never change their meaning.

    ``about`` and ``cure`` are Markdown: the rule's section in ``docs/lint.md``, and what ``help KA012`` prints.
    ``on_facts``: what it finds rests on super users or on default-allow, not on the bindings alone.
    """

    code: str
    name: str
    severity: Severity
    about: str
    cure: str
    check: Callable[[LintState], "Iterator[LintFinding]"]
    fix: Fix = "none"
    on_facts: bool = False

    def finding(
        self,
        about: AclBinding,
        message: str,
        advice: str,
        *,
        related: tuple[AclBinding, ...] = (),
        evidence: tuple[str, ...] = (),
    ) -> "LintFinding":
        """A finding of this rule about a binding."""
        return AclFinding(self, about, message, advice, related, evidence)

    def listed_finding(self, about: ListedItem, message: str, advice: str, origin: Origin | None) -> "LintFinding":
        """A finding of this rule about a resource of a listed kind, declared at ``origin``."""
        return ListedFinding(self, about, message, advice, origin=origin)


@dataclass(frozen=True, slots=True)
class LintFinding(ABC):
    """What a rule found. ``related`` are the bindings that cause it, ``evidence`` names or principals that show it."""

    rule: LintRule
    about: AclBinding | ListedItem
    message: str
    advice: str
    related: tuple[AclBinding, ...] = ()
    evidence: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    @abstractmethod
    def binding(self) -> AclBinding | None:
        """The binding that it is about; ``None``: it is about something else."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """What it is about, in words."""

    @property
    @abstractmethod
    def order(self) -> tuple[str, str, tuple[AclBinding, ...], str]:
        """By rule, then by binding; those about anything else behind, by its name."""

    @abstractmethod
    def placed(self, notes: Mapping[AclBinding, Note]) -> "LintFinding":
        """The same with the place that declares what it is about; ``notes`` are those of the bindings."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Those by which a selector can select it: of its resource and its principal."""

    @abstractmethod
    def selected_by(self, selector: Selector) -> bool:
        """Whether the selector selects what it is about."""

    @abstractmethod
    def ignored_by(self, scope: Scope) -> bool:
        """Whether the scope leaves what it is about to somebody else."""


@dataclass(frozen=True, slots=True)
class AclFinding(LintFinding):
    """A finding about a binding."""

    about: AclBinding

    @property
    def binding(self) -> AclBinding:
        """What it is about."""
        return self.about

    @property
    def subject(self) -> str:
        """The binding as text."""
        return str(self.about)

    @property
    def order(self) -> tuple[str, str, tuple[AclBinding, ...], str]:
        """By the binding."""
        return self.rule.code, "", (self.about,), self.message

    def placed(self, notes: Mapping[AclBinding, Note]) -> LintFinding:
        """With the place of the binding's declaration, if any is known."""
        note = notes.get(self.about)
        origin = note.origin if isinstance(note, Declaration) else note
        return self if origin is None else replace(self, origin=origin)

    @property
    def names(self) -> tuple[str, ...]:
        """Of both."""
        return self.about.pattern.name, self.about.entry.principal

    def selected_by(self, selector: Selector) -> bool:
        """Whether the whole binding is."""
        return selector.selects(self.about)

    def ignored_by(self, scope: Scope) -> bool:
        """As bindings are."""
        return scope.ignores(self.about)


@dataclass(frozen=True, slots=True)
class ListedFinding(LintFinding):
    """A finding about a resource of a listed kind."""

    about: ListedItem

    @property
    def binding(self) -> None:
        """None."""

    @property
    def subject(self) -> str:
        """What a person calls the resource."""
        return self.about.subject

    @property
    def order(self) -> tuple[str, str, tuple[AclBinding, ...], str]:
        """Behind those about bindings, by the subject."""
        return self.rule.code, self.about.subject, (), self.message

    def placed(self, notes: Mapping[AclBinding, Note]) -> LintFinding:
        """The same: it has the place of the resource from the beginning."""
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Of the resource that it is about, or of the principal."""
        place, principal = self.about.place, self.about.principal
        return tuple(name for name in (place and place.name, principal) if name is not None)

    def selected_by(self, selector: Selector) -> bool:
        """Whether the resource is."""
        return selector.selects_listed(self.about)

    def ignored_by(self, scope: Scope) -> bool:
        """Whether an item of ``ignore`` selects it."""
        return any(map(self.selected_by, scope.ignore))


def lint_rule(
    code: str, severity: Severity, about: str, cure: str, fix: Fix = "none", *, on_facts: bool = False
) -> Callable[[Callable[[LintState], Iterator[LintFinding]]], LintRule]:
    """Make a rule of its check; the function's name becomes the rule's: ``open_prefix`` is ``open-prefix``."""

    def rule(check: Callable[[LintState], Iterator[LintFinding]]) -> LintRule:
        return LintRule(code, check.__name__.replace("_", "-"), severity, about, cure, check, fix, on_facts)

    return rule
