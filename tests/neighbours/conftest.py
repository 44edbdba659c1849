"""What the tests against neighbours' packages share. `make neighbours` reads no other such file.

That of all tests imports packages which are not in the neighbours' environments.
"""

from examples import load_profile

load_profile()
