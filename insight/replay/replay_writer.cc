// Converts a recording to programs: see replay_writer.h.
#include "insight/replay/replay_writer.h"

#include <algorithm>
#include <set>

#include "insight/expected.h"
#include "insight/params.h"

namespace heddle::insight {
namespace {

using events::Operation;
using topology::Action;
using topology::ActionKind;
using topology::AlgorithmChoice;
using topology::CallAlgorithm;
using topology::CallKind;

// Of a call among `size` ranks; nothing for NCCL's own.
std::optional<AlgorithmChoice> choice_of(events::Algorithm algorithm, uint32_t group_ranks,
                                         uint32_t size) {
  if (algorithm == events::Algorithm::kTwoLevel) {
    if (group_ranks < 2 || group_ranks >= size) return AlgorithmChoice{CallAlgorithm::kRing};
    return AlgorithmChoice{CallAlgorithm::kTwoLevel, group_ranks};
  }
  if (algorithm >= events::Algorithm::kNvls) return std::nullopt;
  return AlgorithmChoice{static_cast<CallAlgorithm>(algorithm)};
}

bool between_two(const events::CallMade& made) {
  return made.operation == Operation::kSend || made.operation == Operation::kRecv;
}

Unexpected no_job(ErrorCode code, const std::string& why, const std::string& todo) {
  return fail(code, "cannot make a workload of this recording", why, todo);
}

// Labels of pending calls; the lowest free one is used first, so that there are few.
class Labels {
 public:
  uint32_t take(std::vector<std::string>& names) {
    uint32_t label = 0;
    while (taken_.contains(label)) ++label;
    taken_.insert(label);
    while (names.size() <= label) names.push_back("c" + std::to_string(names.size()));
    return label;
  }
  void give_back(uint32_t label) { taken_.erase(label); }

 private:
  std::set<uint32_t> taken_;
};

}  // namespace

Result<JobReplay> ReplayWriter::write() {
  number_ranks();
  if (ranks_.size() < 2) {
    return no_job(ErrorCode::kInvalid,
                  "it has no communicator of two ranks or more that something was called on",
                  "record a job that calls collectives, at level bins or above");
  }
  if (Result<void> placed = place_communicators(); !placed) return fail(placed.error());
  find_windows();
  topology::Job& job = made_.job;
  job.name = "recorded";
  job.kind = "program";
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const Process& process = *ranks_[rank];
    for (const auto& [key, call] : process.calls) {
      job.chunk = {std::max<uint64_t>(job.chunk.count, call.chunk_bytes)};
    }
    made_.hosts.push_back(process.party.host);
    topology::Program program = program_of(process, made_.times.emplace_back());
    auto same = std::find(job.programs.begin(), job.programs.end(), program);
    if (same == job.programs.end()) same = job.programs.insert(same, std::move(program));
    job.ranks[rank].program = static_cast<uint32_t>(same - job.programs.begin());
  }
  add_notes();
  return std::move(made_);
}

// Ranks keep the numbers of their launcher; those without a number follow by their rank in the
// largest communicator.
void ReplayWriter::number_ranks() {
  std::set<uint64_t> used;
  std::pair<uint32_t, uint64_t> largest;
  for (const Process& process : recorded_.processes_) {
    for (const auto& [key, call] : process.calls) used.insert(key.first);
  }
  for (const Process& process : recorded_.processes_) {
    bool takes_part = false;
    for (const auto& [number, membership] : process.communicators) {
      if (membership.size < 2 || !used.contains(number)) continue;
      takes_part = true;
      largest = std::max(largest, {membership.size, number});
    }
    if (takes_part) ranks_.push_back(&process);
  }
  const auto place = [&](const Process* process) -> std::pair<int64_t, int64_t> {
    const auto found = process->communicators.find(largest.second);
    const int64_t there = found == process->communicators.end() ? INT64_MAX : found->second.rank;
    return {process->party.rank < 0 ? INT64_MAX : process->party.rank, there};
  };
  std::stable_sort(ranks_.begin(), ranks_.end(),
                   [&](const Process* a, const Process* b) { return place(a) < place(b); });
}

Result<void> ReplayWriter::place_communicators() {
  topology::Job& job = made_.job;
  std::map<uint64_t, std::vector<uint32_t>> members;  // by rank there: of the job
  std::set<uint64_t> used;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    job.ranks.push_back({.host = rank, .communicators = {}});
    for (const auto& [key, call] : ranks_[rank]->calls) used.insert(key.first);
    for (const auto& [number, membership] : ranks_[rank]->communicators) {
      auto& ranks = members[number];
      ranks.resize(std::max<size_t>(ranks.size(), membership.size), topology::JobRank::kNone);
      if (membership.rank < ranks.size()) ranks[membership.rank] = rank;
    }
  }
  for (const auto& [number, ranks] : members) {
    if (ranks.size() < 2 || !used.contains(number)) continue;
    const auto missing = std::find(ranks.begin(), ranks.end(), topology::JobRank::kNone);
    if (missing != ranks.end()) {
      return no_job(ErrorCode::kUnavailable,
                    "rank " + std::to_string(missing - ranks.begin()) + " of a communicator of " +
                        std::to_string(ranks.size()) + " was not recorded",
                    "gather the recordings of all hosts: heddle record gather");
    }
    communicators_[number] = static_cast<uint32_t>(job.communicators.size());
    for (topology::JobRank& rank : job.ranks) {
      rank.communicators.push_back(topology::JobRank::kNone);
    }
    for (const uint32_t rank : ranks) {
      job.ranks[rank].communicators.back() = communicators_[number];
    }
    job.communicators.push_back({"comm" + std::to_string(job.communicators.size()), ranks});
  }
  return {};
}

ReplayWriter::Stream ReplayWriter::stream_of(const Process& process,
                                             const RecordedCall& call) const {
  const uint64_t communicator = call.made.communicator;
  if (!between_two(call.made)) return {communicator};
  const int64_t mine = process.communicators.at(communicator).rank;
  if (call.made.operation == Operation::kSend) return {communicator, mine, call.made.root};
  return {communicator, call.made.root, mine};
}

// Limits each stream to the calls that all ranks recorded. A replayed call that a rank lacks
// (events dropped, or the rank ended earlier) would never complete.
void ReplayWriter::find_windows() {
  for (const Process* process : ranks_) {
    std::map<std::pair<Stream, Operation>, Window> told;
    for (const auto& [key, call] : process->calls) {
      if (!communicators_.contains(key.first) || !process->communicators.contains(key.first)) {
        continue;
      }
      const bool receives = call.made.operation == Operation::kRecv;
      const auto side =
          std::pair{stream_of(*process, call), receives ? Operation::kRecv : Operation::kSend};
      const auto [at, is_new] = told.insert({side, {call.made.number, call.made.number}});
      at->second.first = std::min(at->second.first, call.made.number);
      at->second.last = std::max(at->second.last, call.made.number);
      if (call.made.operation != Operation::kAlltoallv) continue;
      uint64_t& most = uneven_[{key.first, call.made.number}];
      most = std::max(most, call.made.count);
    }
    for (const auto& [side, window] : told) {
      Window& all = windows_[side.first];
      all.first = std::max(all.first, window.first);
      all.last = std::min(all.last, window.last);
    }
    // A member that recorded no call on a communicator has none in common with the others.
    for (const auto& [number, place] : communicators_) {
      const bool member = process->communicators.contains(number);
      if (member && !told.contains({Stream{number}, Operation::kSend})) {
        windows_[Stream{number}].last = 0;
        windows_[Stream{number}].first = UINT64_MAX;
      }
    }
  }
  // Messages that only one side recorded are left out.
  for (auto& [stream, window] : windows_) {
    if (stream.from < 0) continue;
    uint32_t sides = 0;
    for (const Process* process : ranks_) {
      for (const auto& [key, call] : process->calls) {
        const bool mine = communicators_.contains(key.first) &&
                          process->communicators.contains(key.first) &&
                          stream_of(*process, call) == stream;
        if (mine) sides |= call.made.operation == Operation::kSend ? 1U : 2U;
      }
    }
    if (sides != 3) window = {UINT64_MAX, 0};
  }
}

bool ReplayWriter::recorded_by_all(const Process& process, const RecordedCall& call) const {
  const auto place = communicators_.find(call.made.communicator);
  if (place == communicators_.end()) return false;
  if (!process.communicators.contains(call.made.communicator)) return false;
  const uint32_t size = process.communicators.at(call.made.communicator).size;
  if (call.made.root >= size || element_bytes(call.made.type) == 0) return false;
  const Stream stream = stream_of(process, call);
  if (stream.from == stream.to && stream.from >= 0) return false;  // to itself
  const Window& window = windows_.at(stream);
  return call.made.number >= window.first && call.made.number <= window.last;
}

uint64_t ReplayWriter::bytes_of(const RecordedCall& call, uint32_t size) const {
  const uint64_t width = element_bytes(call.made.type);
  if (call.made.operation == Operation::kAlltoallv) {
    const uint64_t most = uneven_.at({call.made.communicator, call.made.number});
    return (most + size - 1) / size * size * width;
  }
  const bool blocks = topology::in_blocks(static_cast<CallKind>(call.made.operation));
  return call.made.count * width * (blocks ? size : 1);
}

Action ReplayWriter::action_of(const Process& process, const RecordedCall& call) {
  const uint32_t size = process.communicators.at(call.made.communicator).size;
  Action action{.kind = ActionKind::kCall, .call = static_cast<CallKind>(call.made.operation)};
  if (call.made.operation == Operation::kAlltoallv) action.call = CallKind::kAllToAll;
  action.element_bytes = static_cast<uint8_t>(element_bytes(call.made.type));
  if (action.call == CallKind::kBarrier) action.element_bytes = 1;
  action.bytes = action.call == CallKind::kBarrier ? 0 : bytes_of(call, size);
  action.communicator = communicators_.at(call.made.communicator);
  if (topology::has_root(action.call) || between_two(call.made)) action.root = call.made.root;
  const auto choice = choice_of(call.algorithm, call.group_ranks, size);
  if (call.started && choice && topology::has_algorithm(action.call, choice->algorithm)) {
    action.algorithm = choice;
  }
  return action;
}

topology::Program ReplayWriter::program_of(const Process& process, RecordedTimes& times) {
  topology::Program program;
  Labels labels;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> under_way;  // labels
  Nanos computes;
  Nanos free_since = Nanos::never();
  const auto push = [&](const Action& action, Nanos at) {
    program.actions.push_back(action);
    times.at.push_back(at);
  };
  const auto compute = [&] {
    if (computes > Nanos{} && !program.actions.empty()) {
      push({.kind = ActionKind::kCompute, .span = computes}, free_since);
    }
    computes = {};
  };
  const auto& moments = process.moments;
  for (size_t i = 0; i < moments.size(); ++i) {
    const Moment& moment = moments[i];
    const std::pair key{moment.communicator, moment.call};
    if (moment.kind == MomentKind::kStep) {
      const Nanos running = free_since < moment.at ? moment.at - free_since : Nanos{};
      times.steps.push_back({program.actions.size(), moment.at, computes + running});
      continue;
    }
    times.ended = moment.at;
    if (moment.kind == MomentKind::kEnded) {
      const auto ended = under_way.find(key);
      if (ended == under_way.end()) continue;
      labels.give_back(ended->second);
      under_way.erase(ended);
      continue;
    }
    if (moment.kind != MomentKind::kWaited && free_since < moment.at) {
      computes += moment.at - free_since;
    }
    free_since = moment.at;
    if (moment.kind == MomentKind::kCall) {
      const RecordedCall& call = process.calls.at(key);
      if (!recorded_by_all(process, call)) {
        ++left_out_;
        continue;
      }
      compute();
      Action action = action_of(process, call);
      const bool blocks = i + 1 < moments.size() && moments[i + 1].kind == MomentKind::kWait &&
                          moments[i + 1].communicator == moment.communicator &&
                          moments[i + 1].call == moment.call &&
                          moments[i + 1].at - moment.at <= params::kWaitsAtOnce;
      if (!blocks) {
        action.label = labels.take(program.labels);
        under_way[key] = action.label;
      }
      push(action, moment.at);
    } else if (moment.kind == MomentKind::kWait) {
      for (const auto& [each, label] : under_way) {
        if (each.first != moment.communicator) continue;
        const uint32_t group = process.calls.at(each).made.group;
        if (each.second != moment.call && (group == 0 || group != moment.call)) continue;
        compute();
        push({.kind = ActionKind::kWait, .label = label}, moment.at);
      }
    }
  }
  return program;
}

void ReplayWriter::add_notes() {
  if (left_out_ > 0) {
    made_.notes.push_back(std::to_string(left_out_) +
                          " calls are left out: not all of their ranks recorded them, or they "
                          "are a rank's with itself");
  }
  if (!uneven_.empty()) {
    made_.notes.push_back(std::to_string(uneven_.size()) +
                          " alltoallv are all_to_all with equal blocks: the bytes of each pair are "
                          "not recorded with the call");
  }
}

}  // namespace heddle::insight
