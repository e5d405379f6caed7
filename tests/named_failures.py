"""Names each failure when it happens: a run in several processes reports them only at its end otherwise."""

import pytest


class NamedFailures:
    """A plugin for the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if not report.failed or terminal is None:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        said = str(crash.message if crash else report.longreprtext).strip().partition("\n")[0]
        terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {said[:300]}", red=True)
