"""The figures of ``docs/performance.md`` in one run: ``python -m benchmarks``. Longer measurements run alone."""

import os
import platform

from benchmarks import access, cluster, manifests, model, scaling, serve, shapes, startup, tighten, topics


def main() -> None:
    """Prints every table; about fifteen minutes on two cores."""
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
    shapes.main()


if __name__ == "__main__":
    main()
