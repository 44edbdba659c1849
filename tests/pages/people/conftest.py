"""These tests run the app."""

import pytest

for package in ("starlette", "uvicorn"):
    pytest.importorskip(package, reason="needs the extra 'view'")
