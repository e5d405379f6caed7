"""What a run knows of its second client, kafka-python: tried until it connects once, or given up for good.

It is asked only once confluent-kafka is connected. A cluster that one client reaches and the other does not, keeps
refusing the other: every further try would cost its patience again and end alike.
"""

from typing import Final

from reconciler.dataclass import dataclass

#: Seconds that kafka-python's first connection of a run may take without getting any further.
FIRST_CONTACT_SECONDS: Final = 3.0
#: What is missing then.
WITHOUT_MESSAGES: Final = (
    "Without it ACLs with resource types and operations that confluent-kafka cannot name are not changed, client "
    "quotas and group configs are neither read nor written, and the Kafka version of the cluster is not known."
)


@dataclass(slots=True)
class FirstContact:
    """Whether kafka-python connected in this run (``made``), or why it is not used in the rest of it (``failure``)."""

    made: bool = False
    failure: str = ""
    _untold: str = ""

    def give_up(self, reason: str) -> None:
        """Do without it for the rest of the run."""
        if not self.failure:
            self.failure = reason
            self._untold = f"kafka-python cannot connect to this cluster: {reason}. {WITHOUT_MESSAGES}"

    def note(self, text: str) -> None:
        """Something that you should know once, without giving up."""
        self._untold = self._untold or text

    def news(self) -> str:
        """What nobody was told yet; empty without any. It is returned once."""
        text, self._untold = self._untold, ""
        return text
