"""confluent-kafka behind the ports. The doors are ``cluster``, ``settings``, ``secret_source`` and ``bindings``.

Nothing is imported here: the child processes that list ACLs pass through this file, and must start fast.
"""
