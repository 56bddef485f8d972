"""Speed and memory against the peers. ``python -m benchmarks [NAME …]``; read ratios, not seconds."""
