"""`python -m rung`: the command line."""

from rung.cli import main

if __name__ == "__main__":
    main()
