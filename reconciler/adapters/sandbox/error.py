"""The one error of the sandbox: what went wrong in a sentence, and what to do about it."""


class SandboxError(Exception):
    """A sandbox cannot be started, found or ended. ``advice`` says what a person can do, or is empty."""

    def __init__(self, message: str, advice: str = "") -> None:
        """Keeps both parts; ``str()`` shows the message alone, a traceback both."""
        super().__init__(message)
        self.message, self.advice = message, advice
        if advice:
            self.add_note(advice)
