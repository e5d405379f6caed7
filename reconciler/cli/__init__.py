"""The command line: one short module a command; wiring and exit statuses, no decisions."""
