"""Checkpoints: a long fit writes its progress to a file, and continues from it after a kill (docs/checkpoints.md)."""

from afcm.checkpoints.files import CheckpointError
from afcm.checkpoints.journals import Checkpoint, check_checkpoint_early, open_journal

__all__ = ["Checkpoint", "CheckpointError", "check_checkpoint_early", "open_journal"]
