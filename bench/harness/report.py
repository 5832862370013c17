"""Rows of text for output."""


def row(name, *cells):
    print(f"  {name:28}" + "".join(f"  {cell:>24}" for cell in cells))


def cpu_note(programs):
    """A note if the machine, and not the fabric, may have been the limit."""
    busiest = max(program["cpu_share"]["max"] for program in programs)
    if busiest > 0.95:
        print(f"  the cores were up to {busiest:.0%} busy: that may be the limit measured here")
    disturbance_note([program["machine"] for program in programs])


def disturbance_note(machines):
    """A note from meanwhile.summary()s: the other load of the machine, and the number of repeated runs."""
    again, kept = (sum(machine[key] for machine in machines) for key in ("made_again", "disturbed"))
    if again:
        print(f"  {again} runs were made again, since the machine did other work or stood still meanwhile")
    if kept:
        most = {key: max(machine[key] for machine in machines) for key in machines[0]}
        print(f"  {kept} disturbed runs count all the same: other programs had up to {most['others_share_max']:.0%} of "
              f"the cores, a hypervisor {most['stolen_share_max']:.0%}, for up to {most['stall_ms_max']:.0f} ms in one "
              "piece: compare with care")
