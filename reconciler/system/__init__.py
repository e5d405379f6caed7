"""Files, git, child processes, the clock and webhooks of this machine: implementations of ports."""
