"""What authorizer logs show: used bindings, repeated denials, and accesses that a change would affect.

Bytes and bindings in, values out; ``adapters.spark`` finds and opens log files and distributes them to tasks.
"""
