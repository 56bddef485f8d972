"""Programs that cause trouble on purpose and write the tables in docs/trust: ``python -m trust`` and others."""
