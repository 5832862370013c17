// The fault script of a topology file, played on a lab at its times. `heddle lab run` and
// `heddle lab up --play` drive it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "lab/lab.h"

namespace heddle::lab {

// What happens at one time.
struct ScriptStep {
  Nanos at;
  std::vector<topology::LinkChange> links;
  std::vector<topology::HostChange> hosts;
  std::string text;  // "leaf0 - spine1: down"
};

// The steps in the order of their times.
std::vector<ScriptStep> script_steps(const topology::Topology& topology);

// Plays all steps, sleeping between them; `stop` is asked after each sleep, `tell` hears each
// step. Errors: as change_links, after which the rest is not played.
Result<void> play_script(const Lab& lab, const std::function<bool()>& stop,
                         const std::function<void(const ScriptStep&)>& tell);

}  // namespace heddle::lab
