"""Turns samples into a normalized graph with leading eigenvectors, and draws conclusions from that graph."""
