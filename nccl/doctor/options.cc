// Checks of what a job may turn on: the tuner and its figures, and recording.
#include <fmt/format.h>

#include "nccl/doctor/checks.h"

namespace heddle::nccl::doctor {
namespace {

std::string figures_text(const MeasuredNetwork& network) {
  std::string text = fmt::format("{} kb/s between nodes", network.goodput.count / 1'000);
  if (network.connection_goodput.count > 0) {
    text += fmt::format(", {} kb/s a connection", network.connection_goodput.count / 1'000);
  }
  return text + fmt::format(", {} ns one way", network.one_way.count);
}

// Ranks without figures leave the choice to NCCL, so they differ from those that have them.
void check_tuner(const TunerFacts& tuner, Findings& findings) {
  if (tuner.error) {
    findings.push_back(
        {Grade::kFail, "tuner", tuner.error->what,
         fmt::format("{}. The tuner is on, this rank leaves the choice to NCCL, and ranks that "
                     "choose differently hang",
                     tuner.error->why),
         fmt::format("{}; or HEDDLE_NCCL_TUNER=off on all ranks", tuner.error->todo)});
  } else if (tuner.network) {
    ok(findings, "tuner",
       fmt::format("on: {}; every rank needs these figures", figures_text(*tuner.network)));
  } else {
    ok(findings, "tuner", "off: NCCL chooses alone");
  }
}

void check_recording(const RecordingFacts& recording, Findings& findings) {
  if (recording.error) {
    fail(findings, "recording", *recording.error);
  } else if (!recording.folder.empty()) {
    ok(findings, "recording", fmt::format("into {}", recording.folder));
  }
}

}  // namespace

void check_options(const HostFacts& facts, Findings& findings) {
  check_tuner(facts.figures, findings);
  check_recording(facts.recording, findings);
}

}  // namespace heddle::nccl::doctor
