// See size_workload.h.
#include "planner/size_workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "planner/advice.h"

namespace heddle::planner {
namespace {

using topology::Action;
using topology::ActionKind;
using topology::CallKind;

struct Calls {
  double calls = 0;
  double bytes = 0;  // sizes of calls
  double sent = 0;
};

// Of a rank in one step.
struct RankSum {
  double computed_s = 0;
  std::map<CallKind, Calls> by_kind;

  double sent() const {
    double sum = 0;
    for (const auto& [kind, calls] : by_kind) sum += calls.sent;
    return sum;
  }
};

double sent_by(const Action& action, double ranks) {
  const auto bytes = static_cast<double>(action.bytes);
  switch (action.call) {
    case CallKind::kAllReduce:
      return 2 * bytes * (ranks - 1) / ranks;
    case CallKind::kBroadcast:
    case CallKind::kReduce:
    case CallKind::kSend:
      return bytes;
    case CallKind::kReceive:
    case CallKind::kBarrier:
      return 0;
    default:
      return bytes * (ranks - 1) / ranks;
  }
}

RankSum sum_of(const topology::Job& job, const topology::JobRank& rank) {
  RankSum sum;
  const topology::Program& program = job.programs[rank.program];
  for (const Action& action : program.actions) {
    // A CPU computes beside the GPU.
    if (action.kind == ActionKind::kCompute && program.lanes[action.lane] != "cpu") {
      sum.computed_s += static_cast<double>(action.span.count) / 1e9;
    }
    if (action.kind != ActionKind::kCall) continue;
    const uint32_t slot = rank.communicators[action.communicator];
    const auto ranks = static_cast<double>(job.communicators[slot].ranks.size());
    Calls& calls = sum.by_kind[action.call];
    ++calls.calls;
    calls.bytes += static_cast<double>(action.bytes);
    calls.sent += sent_by(action, ranks);
  }
  return sum;
}

Table table_of(const RankSum& busiest) {
  Table table{.name = "calls",
              .title = "calls of the busiest rank in a step",
              .columns = {{"operation", "operation", ""},
                          {"calls", "calls", ""},
                          {"size_bytes", "sizes", "B"},
                          {"sent_bytes", "sent", "B"}},
              .rows = {}};
  for (const auto& [kind, calls] : busiest.by_kind) {
    table.rows.push_back({std::string(name_of(kind)), calls.calls, calls.bytes, calls.sent});
  }
  return table;
}

void add_figures(const WorkloadQuestion& question, const RankSum& busiest, Answer& answer) {
  const Term sent{"S", "sent by the busiest rank", busiest.sent(), "B"};
  const Term rate{"r", "rate of a rank", question.rate_bits_per_s, "b/s"};
  const Term computed{"T", "its computation", busiest.computed_s, "s"};
  const double network_s = busiest.sent() * 8 / question.rate_bits_per_s;
  answer.figures = {
      {"computed_s",
       "computation of the busiest rank in a step",
       "T",
       {computed},
       busiest.computed_s,
       "s",
       "sum over the actions of its program"},
      {"sent_bytes",
       "bytes that it sends in a step",
       "S",
       {sent},
       busiest.sent(),
       "B",
       "ring all-reduce 2 (n - 1) / n of its size, all-gather, reduce-scatter and all-to-all "
       "(n - 1) / n, messages and broadcasts all (Patarasu and Yuan, JPDC 2009)"},
      {"network_s",
       "least time of the network",
       "8 * S / r",
       {sent, rate},
       network_s,
       "s",
       "every byte leaves once, at the full rate"},
      {"step_least_s",
       "least time of a step, with all communication hidden",
       "max(T, 8 * S / r)",
       {computed, sent, rate},
       std::max(busiest.computed_s, network_s),
       "s",
       "neither is shorter than itself"},
      {"step_serial_s",
       "time of a step with none of it hidden",
       "T + 8 * S / r",
       {computed, sent, rate},
       busiest.computed_s + network_s,
       "s",
       "one after the other"}};
  if (busiest.computed_s <= 0) return;
  answer.figures.push_back({"rate_balanced_bits_per_s",
                            "rate at which the network takes as long as the computation",
                            "8 * S / T",
                            {sent, computed},
                            busiest.sent() * 8 / busiest.computed_s,
                            "b/s",
                            "8 S / r = T"});
}

std::string time_text(double seconds) { return duration_text(nanos(std::llround(seconds * 1e9))); }

// The first figures of a recorded job.
void add_waits(const WorkloadQuestion& question, Answer& answer) {
  const RecordedWaits& waits = question.waits;
  const double share = waits.exposed_s / waits.recorded_s;
  const std::string of =
      waits.steps > 0 ? "of the average rank in all recorded steps" : "summed over ranks";
  const Term exposed{"E", "waits, " + of, waits.exposed_s, "s"};
  std::vector<Figure> figures = {
      {"exposed_share",
       "share of the recorded time in which ranks only waited for communication: no change of the "
       "network saves more",
       "E / D",
       {exposed, {"D", "recorded time, " + of, waits.recorded_s, "s"}},
       share,
       "",
       "waits of the recording (heddle summary has them by rank)"}};
  if (waits.steps > 0) {
    const auto steps = static_cast<double>(waits.steps);
    figures.push_back({"waited_s",
                       "what a rank waits for communication in a step",
                       "E / n",
                       {exposed, {"n", "recorded steps", steps, ""}},
                       waits.exposed_s / steps,
                       "s",
                       "the mean of the recorded steps"});
  }
  answer.figures.insert(answer.figures.begin(), figures.begin(), figures.end());
  if (share < kLeastExposed) {
    answer.advice.emplace_back("leave the network as it is: below 2% nothing is to be gained");
    return;
  }
  if (waits.steps > 0) {
    const double network_s = answer.figure("network_s").value;
    const double waited_s = answer.figure("waited_s").value;
    answer.advice.push_back(fmt::format(
        "a rank waits {} in a step, and what it sends takes {} at {}: {}", time_text(waited_s),
        time_text(network_s), rate_text(question.rate_bits_per_s),
        !question.rate_given ? "give --rate, that of its network, to see whether it is the cause"
        : waited_s > 2 * network_s ? "most of it is not the rate: latency, collisions or slow ranks"
                                   : "the rate is a large part of it"));
  }
  answer.advice.push_back(
      "what each change gains, with its interval, and how to try it: heddle "
      "size report " +
      question.recording + " --topology FILE");
  answer.advice.emplace_back(
      "waits for slow ranks count, too: heddle diagnose names the rank or link");
}

}  // namespace

Result<Answer> size_workload(const WorkloadQuestion& question) {
  RankSum busiest;
  for (const topology::JobRank& rank : question.job.ranks) {
    RankSum sum = sum_of(question.job, rank);
    if (sum.sent() > busiest.sent()) busiest = std::move(sum);
  }
  if (busiest.sent() <= 0) {
    return fail(ErrorCode::kInvalid, "cannot size the workload", "its ranks send nothing",
                "name a job whose ranks call collectives or send messages");
  }
  Answer answer;
  answer.title = "workload " + question.job.name + " of " +
                 std::to_string(question.job.ranks.size()) + " ranks";
  add_figures(question, busiest, answer);
  answer.tables.push_back(table_of(busiest));
  if (question.waits.recorded_s > 0) add_waits(question, answer);
  answer.assumptions = question.notes;
  if (question.recording.empty()) {
    answer.assumptions.emplace_back(
        "a step is one run of the job's programs: of a file by heddle workload from, all that was "
        "recorded");
  }
  answer.assumptions.emplace_back("collectives are rings, and ranks have the fabric to themselves");
  if (question.recording.empty()) {
    answer.advice.emplace_back("simulate it to see what is hidden: heddle sim --workload");
  }
  return answer;
}

}  // namespace heddle::planner
