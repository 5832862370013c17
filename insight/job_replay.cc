// Collects the events of a recorded job: see job_replay.h. replay_writer.cc converts them to
// programs.
#include "insight/job_replay.h"

#include <algorithm>

#include "insight/replay/replay_writer.h"

namespace heddle::insight {

uint32_t JobReplayBuilder::add_process(const Identity& identity) {
  processes_.emplace_back().party = party_of(identity);
  return static_cast<uint32_t>(processes_.size() - 1);
}

void JobReplayBuilder::add(uint32_t process, const events::AnyEvent& event) {
  std::visit([this, process](const auto& each) { on(processes_[process], each); }, event);
}

void JobReplayBuilder::on(Process& process, const events::CommunicatorMade& event) {
  process.communicators[event.communicator] = {event.rank, event.size};
}

void JobReplayBuilder::on(Process& process, const events::CallMade& event) {
  process.calls[{event.communicator, event.call}].made = event;
  process.moments.push_back({MomentKind::kCall, event.time, event.communicator, event.call});
}

void JobReplayBuilder::on(Process& process, const events::CallStarted& event) {
  const auto call = process.calls.find({event.communicator, event.call});
  if (call == process.calls.end()) return;
  call->second.started = true;
  call->second.algorithm = event.algorithm;
  call->second.chunk_bytes = event.chunk_bytes;
  call->second.group_ranks = event.group_ranks;
}

void JobReplayBuilder::on(Process& process, const events::CallEnded& event) {
  process.moments.push_back({MomentKind::kEnded, event.time, event.communicator, event.call});
}

void JobReplayBuilder::on(Process& process, const events::WaitBegun& event) {
  process.moments.push_back({MomentKind::kWait, event.time, event.communicator, event.call});
}

void JobReplayBuilder::on(Process& process, const events::WaitEnded& event) {
  process.moments.push_back({MomentKind::kWaited, event.time, event.communicator, event.call});
}

void JobReplayBuilder::on(Process& process, const events::Mark& event) {
  if (event.name.view() != "step") return;
  process.moments.push_back({MomentKind::kStep, event.time});
}

Result<JobReplay> JobReplayBuilder::finish() const { return ReplayWriter(*this).write(); }

Result<JobReplay> with_ranks(const JobReplay& replay, uint32_t ranks) {
  const std::string what = "cannot give the job " + std::to_string(ranks) + " ranks";
  const topology::Job& job = replay.job;
  const bool whole =
      job.communicators.size() == 1 && job.communicators.front().ranks.size() == job.ranks.size();
  if (!whole) {
    return fail(ErrorCode::kInvalid, what, "it has communicators of some of its ranks only",
                "change the workload file by hand");
  }
  JobReplay scaled = replay;
  for (topology::Program& program : scaled.job.programs) {
    for (topology::Action& action : program.actions) {
      if (action.kind != topology::ActionKind::kCall) continue;
      if (topology::between_two(action.call) || action.root >= ranks) {
        return fail(ErrorCode::kInvalid, what,
                    "its ranks send each other messages, or have a root "
                    "that would not be there",
                    "change the workload file by hand");
      }
      action.algorithm.reset();
    }
  }
  scaled.times.clear();
  scaled.job.ranks.clear();
  scaled.job.communicators.front().ranks.clear();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    topology::JobRank same = job.ranks[rank % job.ranks.size()];
    same.host = rank;
    scaled.job.ranks.push_back(same);
    scaled.job.communicators.front().ranks.push_back(rank);
  }
  scaled.hosts.clear();
  scaled.notes.push_back("it had " + std::to_string(job.ranks.size()) + " ranks, and has " +
                         std::to_string(ranks) +
                         ": sizes of calls are as they were, and algorithms are chosen anew");
  return scaled;
}

}  // namespace heddle::insight
