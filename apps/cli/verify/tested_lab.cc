// See tested_lab.h.
#include "apps/cli/verify/tested_lab.h"

#include <fmt/format.h>
#include <unistd.h>

#include "acceptance/acceptance.h"
#include "base/document.h"
#include "lab/rights.h"

namespace heddle::cli {

Result<TestedLab> TestedLab::open(const VerifyOptions& options, const std::string& folder,
                                  bool (*stopped)()) {
  if (!options.lab.empty()) {
    Result<lab::Lab> lab = lab::open_lab(options.lab);
    if (!lab) return fail(std::move(lab).error());
    return TestedLab(std::move(*lab), false);
  }
  if (Result<void> rights = lab::get_rights(); !rights) return fail(rights.error());
  lab::UpOptions up{
      .topology_file = options.topology, .name = fmt::format("verify-{}", getpid()), .owned = true};
  if (up.topology_file.empty()) {
    up.topology_file = folder + "/topology.toml";
    const std::string text(acceptance::own_topology());
    if (auto written = write_text_file(up.topology_file, text); !written) {
      return fail(written.error());
    }
  }
  Result<lab::Lab> lab = lab::bring_up(up, stopped);
  if (!lab) return fail(std::move(lab).error());
  if (!options.report.empty() || !options.topology.empty()) {
    lab->state.notes.push_back(fmt::format(
        "commands name the lab {}, which is removed after the test: `heddle lab up {} --lab {}` "
        "makes it again",
        up.name, up.topology_file, up.name));
  }
  return TestedLab(std::move(*lab), true);
}

Result<void> TestedLab::close() {
  return std::exchange(own_, false) ? lab::take_down(lab_.state.name) : Result<void>();
}

}  // namespace heddle::cli
