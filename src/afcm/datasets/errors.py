"""The errors of loading a data set."""


class DatasetNotFound(FileNotFoundError):
    """The archive is in none of the folders and could not be downloaded."""


class DatasetCorrupt(ValueError):
    """The archive was found, but it is not the one the registry describes."""
