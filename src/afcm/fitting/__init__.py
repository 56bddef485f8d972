"""How a fit runs: the one loop, its starts, the best of several runs."""
