// Old spellings: see old_spellings.h.
#include "apps/cli/command_line/old_spellings.h"

#include <algorithm>
#include <array>

namespace heddle::cli {
namespace {

constexpr std::array kOldSpellings = {
    OldSpelling{"lab up", "--name", "--lab", ""},
    OldSpelling{"lab run", "--name", "--lab", ""},
    OldSpelling{"lab exec", "--name", "--lab", ""},
    OldSpelling{"lab status", "--name", "--lab", ""},
    OldSpelling{"lab fault", "--name", "--lab", ""},
    OldSpelling{"run", "-t", "--tag-output", ""},
    OldSpelling{"workload run", "--hosts", "--ranks", ""},
    OldSpelling{"bench", "--json", "", "--json takes no value; write -J FILE for a file"},
    OldSpelling{"record", "--mebibytes", "", "write --max-size SIZE, like --max-size 64MiB"},
    OldSpelling{"lab up", "--reorder", "--allow-reorder", ""},
    OldSpelling{"lab run", "--reorder", "--allow-reorder", ""},
    OldSpelling{"monitor", "--all", "--site", ""},
    OldSpelling{"monitor", "--store", "--clickhouse", ""},
    OldSpelling{"nccl drive", "--size", "--ranks", ""},
    OldSpelling{"plan lease", "--store", "--leases", ""},
    OldSpelling{"plan leases", "--store", "--leases", ""},
    OldSpelling{"sim", "--matrix", "--delivered", ""},
    OldSpelling{"size distance", "--mtu", "--payload", ""},
    OldSpelling{"size messages", "--mtu", "--payload", ""},
    OldSpelling{"size messages", "--split", "--split-data", ""},
    OldSpelling{"size overlap", "--mtu", "--payload", ""},
    OldSpelling{"timeline", "--from", "--since", ""},
    OldSpelling{"timeline", "--to", "--until", ""},
    OldSpelling{"tune", "--time", "--within", ""},
};

}  // namespace

const OldSpelling* find_old_spelling(const std::string& command, const std::string& option) {
  const auto* const found = std::find_if(
      kOldSpellings.begin(), kOldSpellings.end(),
      [&](const OldSpelling& each) { return each.command == command && each.option == option; });
  return found == kOldSpellings.end() ? nullptr : found;
}

}  // namespace heddle::cli
