"""The version, alone, so that no module need import the package's root."""

__version__ = "0.1.0"
