"""`python -m ytrag_core` is the command `ytrag`."""

from __future__ import annotations

from ytrag_core.cli import main

if __name__ == "__main__":
    main()
