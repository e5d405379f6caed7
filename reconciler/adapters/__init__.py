"""The only place with clients and engines: each package fulfils a port of ``reconciler.ports``."""
