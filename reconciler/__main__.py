"""``python -m reconciler``: the same as the command, where scripts of packages are not on the path."""

from reconciler.cli.main import main

if __name__ == "__main__":
    main()
