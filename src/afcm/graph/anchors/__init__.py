"""The anchor graph: a few anchors stand for many samples, and time and memory grow linearly."""
