// The table of path selectors: one line each.
#include <array>

#include "transport/path/planned.h"
#include "transport/path/reps.h"
#include "transport/path/round_robin.h"
#include "transport/path/selector.h"
#include "transport/path/two_choices.h"

namespace heddle::transport {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Selector> (*make)();
};

constexpr std::array kTable = {
    Entry{"reps", make_reps},
    Entry{"two_choices", make_two_choices},
    Entry{"round_robin", make_round_robin},
    Entry{"plan", make_planned},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kTable.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
  return names;
}();

}  // namespace

std::unique_ptr<Selector> make_selector(std::string_view name) {
  for (const Entry& entry : kTable) {
    if (entry.name == name) return entry.make();
  }
  return nullptr;
}

std::span<const std::string_view> selector_names() { return kNames; }

}  // namespace heddle::transport
