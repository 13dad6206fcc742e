"""`python -m gitmem`: the program, run with a given interpreter."""

from __future__ import annotations

from gitmem.cli.main import main

if __name__ == "__main__":
    main()
