"""Where data sets are looked for, and where downloads are kept."""

import os
import sys
from pathlib import Path

FOLDER_VARIABLE = "AFCM_DATA"


def cache_folder() -> Path:
    """Folder for downloads, where the platform keeps such things: ``~/.cache/afcm`` on Linux."""
    roots = {
        "darwin": "~/Library/Caches",
        "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local",
    }
    root = roots.get(sys.platform, os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Path(root).expanduser() / "afcm"


def search_folders(folder: str | os.PathLike[str] | None) -> dict[str, Path]:
    """Folders to look in, first match wins, each under the setting it came from."""
    settings = {
        "folder": folder,
        FOLDER_VARIABLE: os.environ.get(FOLDER_VARIABLE) or None,
        "cache": cache_folder(),
    }
    return {setting: Path(value).expanduser() for setting, value in settings.items() if value is not None}
