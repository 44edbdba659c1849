"""``evidencebench construct``: make a benchmark from papers and reviews.

The files: `assemble`, `demo`, `estimate`, `harvest`, `steps`, `validate`.
"""

from evidencebench.cli.construct.assemble import assemble_
from evidencebench.cli.construct.demo import demo
from evidencebench.cli.construct.estimate import estimate
from evidencebench.cli.construct.harvest import harvest_
from evidencebench.cli.construct.steps import STEP_COMMANDS, run, status
from evidencebench.cli.construct.validate import validate
from evidencebench.cli.main import LazyGroup

command = LazyGroup("construct", commands=[demo, run, estimate, status, harvest_, *STEP_COMMANDS, assemble_, validate])
