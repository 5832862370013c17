"""The picture of the README: the same transfer over four spines, with one TCP flow and with heddle."""

from chart import box, line, svg, text

_WIDTH, _HEIGHT = 760, 300
_SPINE_Y, _LEAF_Y, _HOST_Y = 92, 168, 240
_OURS, _TCP, _IDLE = "#0b7285", "#e8590c", "#d9e2ec"


def _node(x, y, name, width=56):
    return [box(x - width / 2, y - 13, width, 26, "#f1f3f5", 4),
            f"<rect x='{x - width / 2:.1f}' y='{y - 13:.1f}' width='{width}' height='26' rx='4' fill='none' "
            "stroke='#868e96'/>", text(x, y + 4, name, 12, anchor="middle")]


def _side(left, title, result, used, color):
    """One fabric: `used` spines carry the transfer from the left host to the right one."""
    middle = left + 180
    spines = [left + 54 + 84 * index for index in range(4)]
    leaves = [left + 96, left + 264]
    parts = [text(left + 12, 30, title, 15, weight="bold"), text(left + 12, 50, result, 12.5, color)]
    for index, spine in enumerate(spines):
        busy = index in used
        for leaf in leaves:
            parts.append(line(leaf, _LEAF_Y, spine, _SPINE_Y, color if busy else _IDLE, 5 if busy else 2))
    thickness = 5 if len(used) == 1 else 9
    for leaf in leaves:
        parts.append(line(leaf, _HOST_Y, leaf, _LEAF_Y, color, thickness))
    for index, spine in enumerate(spines):
        parts += _node(spine, _SPINE_Y, f"spine {index}")
    for leaf, switch, host in zip(leaves, ("leaf 0", "leaf 1"), ("sender", "receiver")):
        parts += _node(leaf, _LEAF_Y, switch) + _node(leaf, _HOST_Y, host, 74)
    parts.append(text(middle, 286, "four spine links of 200 Mb/s", 11.5, "#616e7c", "middle"))
    return parts


def picture(tcp_mbits, heddle_mbits):
    """`tcp_mbits`, `heddle_mbits`: goodput of one connection, measured over this fabric."""
    parts = _side(8, "One TCP flow", f"{tcp_mbits:.0f} Mb/s: its hash picks one spine", {1}, _TCP)
    parts.append(line(380, 22, 380, 278))
    result = f"{heddle_mbits:.0f} Mb/s: its paths use all four"
    parts += _side(392, "One heddle connection", result, {0, 1, 2, 3}, _OURS)
    return svg(_HEIGHT, parts, "One TCP flow uses one of four spines; one heddle connection uses all four", _WIDTH)
