"""Checkpoints: a long fit writes down where it is, and goes on from there after a kill (docs/checkpoints.md)."""

from afcm.checkpoints.files import CheckpointError
from afcm.checkpoints.journals import Checkpoint, Journal, check_early, journal

__all__ = ["Checkpoint", "CheckpointError", "Journal", "check_early", "journal"]
