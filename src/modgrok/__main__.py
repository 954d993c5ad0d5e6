"""`python -m modgrok` is the command line."""

from modgrok.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
