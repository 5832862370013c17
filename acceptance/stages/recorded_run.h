// Recorded run: a command that starts a rank on each of some hosts, and the recording that its
// ranks leave, fetched to this machine. The stages collectives and training make them, the stage
// traffic reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

struct RankedCommand {
  std::vector<std::string> words;
  std::vector<uint32_t> hosts;  // that have a rank
  Nanos limit;
};

struct RecordedRun {
  CommandEnd end;
  std::string recording;  // its folder
};

// `name` is that of the folder, with a number behind it if there is such a folder. Of an
// interrupted run nothing is fetched. Errors: kSystem, kUnavailable.
Result<RecordedRun> run_recorded(Session& session, const std::string& name,
                                 const RankedCommand& command);

}  // namespace heddle::acceptance
