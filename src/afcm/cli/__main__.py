"""Run the command line as ``python -m afcm.cli``."""

from afcm.cli import main

if __name__ == "__main__":
    main()
