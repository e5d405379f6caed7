"""Values in Kafka's words; imports nothing of ours and touches no network, clock or environment.

The docstring of :class:`AclBinding` says what one costs, measured by ``benchmarks/model.py``.
"""
