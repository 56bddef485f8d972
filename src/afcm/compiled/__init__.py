"""Loops compiled by Numba (CPU) and Triton (GPU), behind functions with plain arguments."""
