"""Nearest neighbors behind one call, `find_neighbors`: exact, approximate, or on a GPU."""
