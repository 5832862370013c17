// Plays the fault script of a topology file on a lab at the script's times. `heddle lab run` and
// `heddle lab up --play` call it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "lab/lab.h"

namespace heddle::lab {

// The changes at one time.
struct ScriptStep {
  Nanos at;
  std::vector<topology::LinkChange> links;
  std::vector<topology::HostChange> hosts;
  std::string text;  // "leaf0 - spine1: down"
};

// The steps, sorted by time.
std::vector<ScriptStep> script_steps(const topology::Topology& topology);

// Plays all steps, sleeping between them. Calls `stop` after each sleep and `tell` for each step.
// Errors: as change_links; then the remaining steps are not played.
Result<void> play_script(const Lab& lab, const std::function<bool()>& stop,
                         const std::function<void(const ScriptStep&)>& tell);

}  // namespace heddle::lab
