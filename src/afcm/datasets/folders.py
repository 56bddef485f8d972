"""The folders in which data sets are looked for and downloads are kept."""

import os
import sys
from pathlib import Path

FOLDER_VARIABLE = "AFCM_DATA"


def find_cache_folder() -> Path:
    """Return the folder for downloads, where the platform keeps such things: ``~/.cache/afcm`` on Linux."""
    roots = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local"}
    root = roots.get(sys.platform, os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Path(root).expanduser() / "afcm"


def list_folders(folder: str | os.PathLike[str] | None) -> dict[str, Path]:
    """Return the folders to look in, in their order, each under the setting it came from."""
    settings = {
        "folder": folder,
        FOLDER_VARIABLE: os.environ.get(FOLDER_VARIABLE) or None,
        "cache": find_cache_folder(),
    }
    return {setting: Path(value).expanduser() for setting, value in settings.items() if value is not None}
