"""The figures of ``docs/performance.md`` in one run: ``python -m benchmarks``. Longer measurements run alone."""

import os
import platform
import sys

from benchmarks import access, cluster, manifests, model, scaling, serve, shapes, startup, tighten, topics


def main() -> int:
    """Prints every table, in some twenty minutes on two cores; 1 if a shape grows faster than it may."""
    print(f"CPython {platform.python_version()}, {os.cpu_count()} cores")
    startup.main()
    print("\nManifests")
    manifests.main()
    print("\nModel")
    model.main(1_000_000)
    print("\nAccess")
    access.main(100_000)
    serve.main(10_000, 8, 60)
    print("\nTighten")
    tighten.main()
    cluster.main()
    topics.main()
    print("\nScaling")
    scaling.main()
    print("\nShapes")
    return shapes.main()


if __name__ == "__main__":
    sys.exit(main())
