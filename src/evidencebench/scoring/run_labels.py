"""Labels of runs that are shown together: the shortest that tell them apart."""

import os
from collections import Counter
from collections.abc import Callable, Sequence

from evidencebench.errors import RunMismatchError
from evidencebench.runs.header import option_text
from evidencebench.runs.people.people_folder import SYSTEM_NAME as PERSON
from evidencebench.runs.run_file import RunFile
from evidencebench.wording import without_folders


def runs_by_label(runs: Sequence[RunFile]) -> dict[str, RunFile]:
    """Return label -> run: the system, with the options that differ where needed, or else the file's path.

    The label of a person's run always holds the name. A file in an option is shown by its name.
    """
    labels = [_system_label(run) for run in runs]
    # A nested system by its name only, as long as that tells the runs apart.
    with_options = [_label_with_options(runs, with_inner_options=inner) for inner in (False, True)]
    for finer in (*with_options, _path_labels(runs)):
        counts = Counter(labels)
        labels = [finer(run) if counts[label] > 1 else label for label, run in zip(labels, runs, strict=True)]
    if len(set(labels)) < len(labels):
        raise RunMismatchError(f"{next(label for label, n in Counter(labels).items() if n > 1)}: given twice")
    return dict(zip(labels, runs, strict=True))


def _system_label(run: RunFile) -> str:
    if run.header is None:
        return run.path.name
    system = run.header.system
    # A person is named even where no other person's run is shown.
    is_person = system.name == PERSON and "name" in system.options
    label = f"{PERSON}(name={option_text(system.options['name'])})" if is_person else system.name
    if run.header.crossval is not None and run.header.crossval.folds is not None:
        return f"{label}, cross-validated"
    return label if run.header.control is None else f"{label}, {run.header.control.words}"


def _path_labels(runs: Sequence[RunFile]) -> Callable[[RunFile], str]:
    """Return a function that names a run by its path: where one is absolute, from the folder that holds all."""
    if not any(run.path.is_absolute() for run in runs):
        return lambda run: str(run.path)
    folder = os.path.commonpath([run.path.absolute().parent for run in runs])
    return lambda run: str(run.path.absolute().relative_to(folder))


def _label_with_options(runs: Sequence[RunFile], *, with_inner_options: bool) -> Callable[[RunFile], str]:
    """Return a function that adds to a label the options in which runs of the same system differ."""
    by_path = _path_labels(runs)

    def label(run: RunFile) -> str:
        if run.header is None:
            return by_path(run)
        options = run.header.system.options
        others = [other.header.system for other in runs if other.header and _system_label(other) == _system_label(run)]
        differing = (key for key in options if any(other.options.get(key) != options[key] for other in others))
        texts = {key: option_text(options[key], with_inner_options=with_inner_options) for key in differing}
        return without_folders(f"{_system_label(run)}({','.join(f'{key}={text}' for key, text in texts.items())})")

    return label
