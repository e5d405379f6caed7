"""What ``docs/fleet.md`` quotes of comparisons: ``python -m benchmarks.fleet``."""

from benchmarks.fleet import comparison, growth

if __name__ == "__main__":
    comparison.main()
    growth.main()
