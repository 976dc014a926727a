"""The settings of a process: their table, and how they are read."""

from .reading import (
    PREFIX,
    SettingInvalid,
    available_bytes,
    cache_folder,
    end_with,
    from_environment,
    processors,
    read,
    resident_bytes,
    set_variable,
    settings_file,
)
from .table import CHOICES, Settings
