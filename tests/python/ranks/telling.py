"""What scripts of this folder write about a call."""

import sys
import warnings

import sluice as sl


def tell(name, function, *arguments, **keywords):
    """Writes what came of a call: no error, warnings, or the error."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            function(*arguments, **keywords)
        text = "".join(f"warned: {each.message}" for each in warned) or "no error"
    except sl.SluiceError as error:
        text = f"{type(error).__name__} {error.check_id}: {error}"
    text = text.replace("\n", " | ")
    # A single write, so that the lines of ranks do not mix.
    sys.stdout.write(f"rank {sl.distributed.rank()}: {name}: {text}\n")
    sys.stdout.flush()
