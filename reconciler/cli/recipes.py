"""The recipes of ``docs/how-to.md`` by the command that a person would look at first; its help names them."""

from collections.abc import Mapping
from typing import Final

_PIPELINES: Final = tuple(
    f"Run it in {name}" for name in ("GitHub Actions", "GitLab", "Jenkins", "Azure DevOps", "Bitbucket")
)
#: Headings of the page, as they stand there.
RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": ("Add a team: producer, consumer, Streams, Connect", "Declare dev, stage and prod"),
    "validate": ("Hand a topic to another team", "Declare dev, stage and prod"),
    "plan": (
        "Give somebody access for two weeks",
        "Rename a service principal without an outage",
        "Delete a topic",
        "Raise partitions",
        "Change the replication factor",
        "Give a group more time before it rebalances",
        "Create a user that can log in",
        "Change a password without an outage",
        "Cut off a compromised principal, now and at the next merge",
        "Review a pull request as a security person",
    ),
    "grant": (
        "Give somebody access for two weeks",
        "Give somebody access for two hours",
        "Give access in an emergency",
    ),
    "revoke": ("Give somebody access for two weeks",),
    "rename": ("Rename a service principal without an outage",),
    "show": ("Review a pull request as a security person",),
    "apply": ("Cut off a compromised principal, now and at the next merge", *_PIPELINES),
    "users generate": ("Create a user that can log in",),
    "users disable": ("Cut off a compromised principal, now and at the next merge",),
    "serve": ("End access on time", "Watch from Kubernetes, with Argo CD or Flux"),
    "test": ("Check what brokers are configured to do",),
    "drift": (
        "Check what brokers are configured to do",
        "Get alerts in Slack and Prometheus",
        "Share a cluster with Strimzi, Terraform or Confluent",
    ),
    "adopt": ("Keep what somebody changed on the cluster by hand",),
    "report": ("Get alerts in Slack and Prometheus",),
    "can-i": ('Solve "Not authorized to access topic"',),
    "who-can": ("Find out who can write to a topic, and why",),
    "explain": ('Solve "Not authorized to access topic"', "Find out who can write to a topic, and why"),
    "access": ("Find out who can write to a topic, and why",),
    "quota": ("Limit what a client may send",),
    "usage": ("Find unused ACLs",),
    "tighten": ("Take away access that nobody uses",),
    "lint": ("Find unused ACLs",),
    "export": ("Share a cluster with Strimzi, Terraform or Confluent",),
    "convert": ("Move in from another tool",),
}


def all_recipes() -> str:
    """The paragraph of the program's help: every recipe, so that whoever looks for a task finds a command."""
    found = dict.fromkeys(heading for headings in RECIPES.values() for heading in headings if heading not in _PIPELINES)
    listed = "; ".join((*found, "Run it in GitHub Actions, GitLab, Jenkins, Azure DevOps or Bitbucket"))
    return f"Recipes in docs/how-to.md, which the help of their commands names, too: {listed}."


def recipes_of(words: tuple[str, ...]) -> str:
    """The paragraph of a command's help that names its recipes; empty if there are none."""
    found = RECIPES.get(" ".join(words), ())
    return f"Recipes in docs/how-to.md: {'; '.join(found)}.\n\n" if found else ""
