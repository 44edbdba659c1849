"""Every benchmark, one after the other, on synthetic data of the published shape, in one summary.

Goals are ratios to a peer on the same machine wherever there is a peer; the others are in seconds on two cores.
A missed goal is printed as NO and is not an error; a wrong result is.
"""

import answering
import asking
import columns
import encoding
import finding
import loading
import oracle
import over_length
import pipeline
import reporting
import selecting
import splitting
import training
import validating
import viewing
from timing import main_of

if __name__ == "__main__":
    main_of(
        "run_all.py",
        __doc__,
        loading.figures,
        columns.figures,
        validating.figures,
        oracle.figures,
        over_length.figures,
        pipeline.figures,
        encoding.figures,
        selecting.figures,
        answering.figures,
        training.figures,
        finding.figures,
        splitting.figures,
        asking.figures,
        reporting.figures,
        viewing.figures,
    )
