"""Real Apache Kafka (KRaft, StandardAuthorizer) on loopback, with nothing to install but Java 17 or newer.

``with running(SandboxSpec(name="try")) as sandbox: AdminClient(sandbox.settings("admin"))``
"""
