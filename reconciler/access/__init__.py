"""What ACLs mean: Kafka's authorizer, effective access, access differences, assertions and lint; needs no broker.

Start with :class:`Authorizer`. It answers single requests exactly as a broker does; the functions that take one answer
questions about all principals, hosts and names at once.
"""
