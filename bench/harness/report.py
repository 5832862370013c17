"""Rows of text for people."""


def row(name, *cells):
    print(f"  {name:28}" + "".join(f"{cell:>26}" for cell in cells))


def cpu_note(programs):
    """Says so where the machine, and not the fabric, may have been the limit."""
    busiest = max(program["cpu_share"]["max"] for program in programs)
    if busiest > 0.95:
        print(f"  the cores were up to {busiest:.0%} busy: that may be the limit measured here")
    share = max(program.get("others_share_max", 0) for program in programs)
    if share > 0.05:
        print(f"  other programs used up to {share:.0%} of the cores meanwhile: compare with care")
