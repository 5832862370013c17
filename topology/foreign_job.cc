// See foreign_job.h.
#include "topology/foreign_job.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/document.h"
#include "topology/aicb_workload.h"
#include "topology/chakra_traces.h"

namespace heddle::topology {
namespace {

constexpr const char* kServerLane = "server";

// A ring's time, whose ranks send and receive at that rate.
Nanos ring_time(const Action& action, uint64_t ranks, BitsPerSec rate) {
  uint64_t bytes = action.bytes / ranks * (ranks - 1);
  if (action.call == CallKind::kAllReduce) bytes *= 2;
  if (action.call == CallKind::kBroadcast || action.call == CallKind::kReduce) bytes = action.bytes;
  return transmit_time({bytes}, rate);
}

// Replaces calls within servers by computations on a lane of their own.
class Servers {
 public:
  Servers(ForeignJob& made, const ForeignOptions& options) : made_(made), options_(options) {}

  void apply() {
    Job& job = made_.job;
    std::vector<Program> programs;
    std::map<std::pair<uint32_t, std::vector<bool>>, uint32_t> known;
    for (JobRank& rank : job.ranks) {
      std::vector<bool> inside;
      for (const uint32_t slot : rank.communicators) inside.push_back(is_inside(slot));
      const auto [found, is_new] = known.try_emplace({rank.program, std::move(inside)},
                                                     static_cast<uint32_t>(programs.size()));
      if (is_new) programs.push_back(changed(job.programs[rank.program], rank));
      rank.program = found->second;
    }
    job.programs = std::move(programs);
    if (replaced_ == 0) return;
    made_.notes.push_back(std::to_string(replaced_) + " calls of a rank's program are within a " +
                          "server, and computations of the time that a ring takes there");
  }

 private:
  bool is_inside(uint32_t slot) const {
    if (slot == JobRank::kNone) return false;
    const std::vector<uint32_t>& ranks = made_.job.communicators[slot].ranks;
    return std::all_of(ranks.begin(), ranks.end(), [&](uint32_t rank) {
      return rank / options_.server_ranks == ranks.front() / options_.server_ranks;
    });
  }

  Program changed(Program program, const JobRank& rank) {
    const auto lane = static_cast<uint32_t>(program.lanes.size());
    program.lanes.emplace_back(kServerLane);
    uint64_t replaced = 0;
    for (Action& action : program.actions) {
      if (action.kind != ActionKind::kCall || between_two(action.call)) continue;
      const uint32_t slot = rank.communicators[action.communicator];
      if (!is_inside(slot)) continue;
      const uint64_t ranks = made_.job.communicators[slot].ranks.size();
      Action computation{.kind = ActionKind::kCompute,
                         .label = action.label,
                         .lane = lane,
                         .span = ring_time(action, ranks, options_.server_rate)};
      computation.after = std::move(action.after);
      action = std::move(computation);
      ++replaced;
    }
    replaced_ = std::max(replaced_, replaced);
    return program;
  }

  ForeignJob& made_;
  const ForeignOptions& options_;
  uint64_t replaced_ = 0;
};

bool is_aicb(const std::string& path) { return path.ends_with(".txt"); }

}  // namespace

bool is_foreign_job(const std::string& path) {
  std::error_code ignored;
  if (is_aicb(path) || path.ends_with(".et") || path.ends_with(".json")) return true;
  if (std::filesystem::is_directory(path, ignored)) return true;
  return !std::filesystem::exists(path, ignored) &&
         (std::filesystem::exists(path + ".0.et", ignored) ||
          std::filesystem::exists(path + ".0.json", ignored));
}

Result<ForeignJob> read_foreign_job(const std::string& path, const ForeignOptions& options) {
  Result<ForeignJob> made = fail(ErrorCode::kInvalid, "", "", "");
  if (is_aicb(path)) {
    const auto text = read_text_file(path, "check the path of the workload file");
    if (!text) return fail(text.error());
    made = parse_aicb_workload(*text, path, options);
  } else {
    made = read_chakra_traces(path);
  }
  if (made && options.server_ranks > 1) Servers(*made, options).apply();
  return made;
}

}  // namespace heddle::topology
