"""Why a comparison cannot be made, and what to do about it."""


class CannotMeasure(Exception):
    def __init__(self, what, todo):
        super().__init__(f"{what} ({todo})")


class DoesNotEnd(CannotMeasure):
    """A program was ended that stood still."""
