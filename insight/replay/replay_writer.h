// ReplayWriter: creates the job from what JobReplayBuilder collected: numbers the ranks, selects
// the calls that all of their ranks recorded, and writes each rank's program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "insight/job_replay.h"

namespace heddle::insight {

class ReplayWriter {
 public:
  explicit ReplayWriter(const JobReplayBuilder& recorded) : recorded_(recorded) {}
  // Call once.
  Result<JobReplay> write();

 private:
  using Process = JobReplayBuilder::Process;
  using RecordedCall = JobReplayBuilder::RecordedCall;
  using Moment = JobReplayBuilder::Moment;
  using MomentKind = JobReplayBuilder::MomentKind;

  // Calls of collectives on a communicator, or messages from one rank to another.
  struct Stream {
    uint64_t communicator = 0;
    int64_t from = -1;
    int64_t to = -1;
    auto operator<=>(const Stream&) const = default;
  };
  // A range of call numbers, both ends included.
  struct Window {
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;
  };

  void number_ranks();
  Result<void> place_communicators();
  void find_windows();
  Stream stream_of(const Process& process, const RecordedCall& call) const;
  bool recorded_by_all(const Process& process, const RecordedCall& call) const;
  // Total bytes of a call, with the message or block size that all ranks use.
  uint64_t bytes_of(const RecordedCall& call, uint32_t size) const;
  topology::Action action_of(const Process& process, const RecordedCall& call);
  topology::Program program_of(const Process& process, RecordedTimes& times);
  void add_notes();

  const JobReplayBuilder& recorded_;
  std::vector<const Process*> ranks_;
  std::map<uint64_t, uint32_t> communicators_;  // communicator to its number in the job
  std::map<Stream, Window> windows_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t>
      uneven_;             // by communicator and call number: the largest count of any rank
  uint64_t left_out_ = 0;  // calls
  JobReplay made_;
};

}  // namespace heddle::insight
