"""heddle size beside what happens: its closed forms, and the same jobs simulated or run with real packets.

overlap: steps of two models of data parallel training, in three ways (computation alone, communication alone, both at
once), by the formulas and in the simulator, or with --lab by real packets between hosts of a lab. traffic: bytes that
a rank sends in a step, by the formulas and counted in a recording of real packets. patterns: calls and bytes for four
ways to cut a model, by the formulas, simulated and counted. headroom: the buffer that PFC needs, by the formula and in
the simulator's lossless switch. messages: messages and packets of RDMA writes, by the formulas and in a capture.
distance: goodput over a long cable, by the formulas, simulated, and of RDMA writes. Every row has its error; the exit
status is 1 if one exceeds the question's bound.
"""

from harness.failure import CannotMeasure
from size import distance, headroom, messages, overlap, overlap_in_lab, patterns, traffic

SUMMARY = "heddle size's closed forms beside the simulator and real packets, with the error of each"

_QUESTIONS = {"overlap": overlap, "traffic": traffic, "patterns": patterns, "headroom": headroom,
              "messages": messages, "distance": distance}


def add_arguments(parser):
    parser.add_argument("question", choices=_QUESTIONS, help="which of heddle size's questions")
    parser.add_argument("--gpus", type=int, nargs="+", metavar="N",
                        help=f"of overlap and traffic: ranks [{overlap.GPUS} and {traffic.GPUS}]")
    parser.add_argument("--parameters", type=float, metavar="N",
                        help="of overlap: of the model [1e9, in a lab 1e8]")
    parser.add_argument("--lab", action="store_true",
                        help="of overlap: real packets between hosts of a lab, with links of a lower rate")
    parser.add_argument("--steps", type=int, metavar="N", help="of overlap in a lab: steps of a run [2]")


def _answers(question, in_lab):
    return overlap_in_lab if in_lab else _QUESTIONS[question]


def run(arguments, progress):
    question = arguments.question
    if arguments.lab and question != "overlap":
        raise CannotMeasure(f"{question} does not run in a lab", "leave out --lab, or ask for overlap")
    return {"question": question, **_answers(question, arguments.lab).run(arguments, progress)}


def show(document):
    _answers(document["question"], document.get("lab", False)).show(document)
