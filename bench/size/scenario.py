"""heddle size beside what happens: its closed forms, and the same jobs simulated or run with real packets.

overlap: steps of two models of data parallel training, in three ways (computation alone, communication alone, both at
once), by the formulas and in the simulator. traffic: bytes that a rank sends in a step, by the formulas and counted in
a recording of real packets. patterns: calls and bytes for four ways to cut a model, by the formulas, simulated and
counted. headroom: the buffer that PFC needs, by the formula and in the simulator's lossless switch.
messages: messages and packets of RDMA writes, by the formulas and in a capture. distance: goodput over a long cable, by
the formulas, simulated, and of RDMA writes. Every row has its error; the exit
status is 1 if one exceeds the question's bound.
"""

from size import distance, headroom, messages, overlap, patterns, traffic

SUMMARY = "heddle size's closed forms beside the simulator and real packets, with the error of each"

_QUESTIONS = {"overlap": overlap, "traffic": traffic, "patterns": patterns, "headroom": headroom,
              "messages": messages, "distance": distance}


def add_arguments(parser):
    parser.add_argument("question", choices=_QUESTIONS, help="which of heddle size's questions")
    parser.add_argument("--gpus", type=int, nargs="+", metavar="N",
                        help=f"of overlap and traffic: ranks [{overlap.GPUS} and {traffic.GPUS}]")
    parser.add_argument("--parameters", type=float, metavar="N", help="of overlap: of the model [1e9]")


def run(arguments, progress):
    return {"question": arguments.question, **_QUESTIONS[arguments.question].run(arguments, progress)}


def show(document):
    _QUESTIONS[document["question"]].show(document)
