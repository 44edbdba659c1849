"""The local app: the viewer for data of any size, and people who pick sentences as a system does."""
