"""How all tests run."""

from hypothesis import settings

# A busy machine is no fault of the code: nothing here is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
