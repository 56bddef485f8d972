"""Model files: fitted models as numbers and text, without code, readable by later versions (docs/model-files.md)."""

from afcm.modelfiles.files import ModelFileError, load_model, read_info, save_model
from afcm.modelfiles.info import ModelInfo

__all__ = ["ModelFileError", "ModelInfo", "load_model", "read_info", "save_model"]
