"""CannotMeasure: why a comparison cannot be made, and what to do about it."""


class CannotMeasure(Exception):
    def __init__(self, what, todo):
        super().__init__(f"{what} ({todo})")
