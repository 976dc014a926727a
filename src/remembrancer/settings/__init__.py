"""The settings of a process: their table, and how they are read."""

from .machine import available_bytes, end_with, processors
from .reading import PREFIX, SettingInvalid, from_environment, read, set_variable, settings_file
from .table import CHOICES, Settings
