// Watch: a job is watched until it is over: its recordings here, or those of other machines, are
// followed, and each change of its faults is reported.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "launch/remote_shell.h"
#include "monitor/documents.h"

namespace heddle::monitor {

struct WatchOptions {
  std::string folder;                     // of the recordings, on each host
  std::vector<launch::RemoteHost> hosts;  // none: the folder is here
  launch::RemoteShell shell;
  std::string copies;        // a folder here, for a copy of each host's; it exists
  std::string node_records;  // of each machine's agent, where the folder is; empty: none
  Nanos every = seconds(1);
  Nanos series_every = seconds(10);
  // Asked often; true: the watch ends.
  std::function<bool()> interrupted;
  std::function<void(const AlarmChange& change, const WatchState& state)> changed;
  // After each look.
  std::function<void(const WatchDocument& document)> looked;
  // Each `series_every` after the first look, and at the job's end: what its processes did
  // meanwhile.
  std::function<void(const WatchDocument& document, const SeriesInterval& interval)> sampled;
  std::function<void(const std::string& text)> warned;
};

// Returns the last state. Errors: kSystem (a folder cannot be made).
Result<WatchState> watch(const WatchOptions& options);

}  // namespace heddle::monitor
