"""All small breakages of the classifier that a comparison with the scheduler must notice."""

from .breakages_amounts import AMOUNTS
from .breakages_holding import HOLDING
from .breakages_placement import PLACEMENT
from .mutating import Breakage

ALL = [*PLACEMENT, *AMOUNTS, *HOLDING]


def named(what: str) -> Breakage:
    """The breakage that is called so."""
    return next(each for each in ALL if each.what == what)
