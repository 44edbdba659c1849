"""``evidencebench construct``: make a benchmark from papers and reviews.

The files: `init`, `run` (``run``, ``status``), `show`, `estimate`, `validate`, `demo`.
"""

from evidencebench.cli.construct.demo import demo
from evidencebench.cli.construct.estimate import estimate
from evidencebench.cli.construct.init import init
from evidencebench.cli.construct.run import run, status
from evidencebench.cli.construct.show import show
from evidencebench.cli.construct.validate import validate
from evidencebench.cli.main import LazyGroup

command: LazyGroup = LazyGroup("construct", commands=[init, run, status, show, estimate, validate, demo])
