"""Which rows the pages show of a figure with more than six; the appendix has them all."""

MOST = 6

_BESIDE_ROCE = ["RoCE: PFC alone, ECMP", "RoCE: PFC, DCQCN, ECMP", "RoCE: lossy, DCQCN, ECMP",
                "RoCE: PFC, DCQCN, flowlets", "heddle, 128 paths, CUBIC", "heddle, 128 paths, credits"]
SHOWN = {
    "gpu_threads_all_reduce": ["heddle", "heddle, 2 threads", "heddle, 4 threads", "heddle, 8 threads", "NCCL Socket",
                               "Socket, 4 sockets"],
    "size_patterns": ["data, 4 ranks: bytes a layer", "sharded (ZeRO 3), 4 ranks: all_gathers a layer",
                      "sharded (ZeRO 3), 4 ranks: bytes a layer", "tensor, 4 ranks: all_reduces a layer",
                      "tensor, 4 ranks: bytes a layer", "pipeline, 4 ranks: bytes a layer"],
    "size_messages": ["1 MiB, MTU 4096: packets of a message", "1 MiB, MTU 4096: bytes on the wire",
                      "1 MiB, MTU 1024: packets of a message", "1 MiB, MTU 1024: bytes on the wire",
                      "10 KiB, MTU 4096: packets of a message", "10 KiB, MTU 4096: bytes on the wire"],
    "acceptance_faults": ["a link of 4 of 20 Mb/s", "a black hole from a leaf to a spine", "an unplugged NIC",
                          "a paused host", "a link that is down 1 s of 4", "no fault: passes"],
    "stragglers": ["one slow worker: slowdown", "one slow worker: slowest workers' share",
                   "a long last stage: slowdown", "a long last stage: last stage's share",
                   "sequence lengths: slowdown", "sequence lengths: slowest workers' share"],
    **{f"roce_{traffic}_simulated": _BESIDE_ROCE
       for traffic in ("permutation", "victims", "all_reduces", "all_reduce", "training")},
    "roce_published_simulated": ["4 to 1: mean queue", "20 to 1: 90th percentile of the queue",
                                 "go-back-N, 1% lost: share of goodput",
                                 "PFC alone: the most that the near sender gets",
                                 "PFC alone: the victim of six senders, median",
                                 "without PFC to with it: mean of flow times"],
    "plan_failure_simulated": ["ECMP, one path", "heddle, spraying", "heddle, plan from before",
                               "heddle, concerned flows planned again", "heddle, all planned again",
                               "bound, without headers"],
    "plan_shares_simulated": ["ECMP, one path", "Crux's path selection, ties by chance",
                              "Crux's path selection, ties to the first", "heddle, spraying",
                              "heddle, each job planned alone", "heddle, leases"],
    "size_overlap_errors_simulated": ["A: backward 800 ms, communication", "A: backward 800 ms, exposed",
                                      "A: backward 800 ms, speed-up", "B: backward 400 ms, communication",
                                      "B: backward 400 ms, exposed", "B: backward 400 ms, speed-up"],
}


def with_shown_rows(figure):
    """The figure with the names of the rows that a page shows. A name that no row has is an error."""
    shown = SHOWN.get(figure["id"])
    if not shown:
        return figure
    unknown = set(shown) - {row["name"] for row in figure["rows"]}
    if unknown and len(figure["rows"]) > MOST:
        raise SystemExit(f"error: {figure['id']} has no row {sorted(unknown)[0]!r}, which a page is to show")
    return {**figure, "page_rows": shown} if not unknown else figure
