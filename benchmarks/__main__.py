"""Everything that ``benchmarks/README.md`` quotes, in one run: ``python -m benchmarks``."""

import os
import platform

from benchmarks import access, cluster, manifests, model, startup, topics


def main() -> None:
    """Prints every table; about eight minutes on two cores."""
    print(f"CPython {platform.python_version()}, {os.cpu_count()} cores")
    startup.main()
    print("\nManifests")
    manifests.main()
    print("\nModel")
    model.main(1_000_000)
    print("\nAccess")
    access.main(100_000)
    cluster.main()
    topics.main()


if __name__ == "__main__":
    main()
