"""What the programs of this folder expect of calls that fail."""


def expect_error(part, call):
    try:
        call()
    except RuntimeError as error:
        assert part in str(error), f"'{error}' does not say '{part}'"
        return
    raise AssertionError(f"it ended well, without '{part}'")
