"""``evidencebench construct``: make a benchmark from papers and reviews.

The files: `assemble`, `demo`, `estimate`, `harvest`, `show`, `steps`.
"""

from evidencebench.cli.construct.assemble import assemble_
from evidencebench.cli.construct.demo import demo
from evidencebench.cli.construct.estimate import estimate
from evidencebench.cli.construct.harvest import harvest_
from evidencebench.cli.construct.show import show
from evidencebench.cli.construct.steps import STEP_COMMANDS, run, status
from evidencebench.cli.main import LazyGroup

command = LazyGroup("construct", commands=[demo, run, estimate, status, show, harvest_, *STEP_COMMANDS, assemble_])
