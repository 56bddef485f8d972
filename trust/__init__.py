"""What bad input and faults do to this package and to its peers: ``python -m trust`` makes docs/trust.md."""
