"""Small tools that every room uses: threads, progress, optional packages, messages, files."""
