"""One page per algorithm: a frozen state and a problem whose ``sweep`` reads as the paper's pseudo-code."""
