// The table of congestion controllers: one line each.
#include "transport/congestion/registry.h"

#include <array>

#include "transport/congestion/cubic.h"
#include "transport/congestion/dctcp.h"
#include "transport/congestion/swift.h"

namespace heddle::transport {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Controller> (*make)(const ControllerOptions& options);
};

constexpr std::array kTable = {
    Entry{"cubic", make_cubic},
    Entry{"swift", make_swift},
    Entry{"dctcp", make_dctcp},
    // What the receiver's link takes is the credits' matter (transport/credits/); what the fabric
    // before it takes shows in marks and losses.
    Entry{"credits", make_dctcp},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kTable.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
  return names;
}();

}  // namespace

std::unique_ptr<Controller> make_controller(std::string_view name,
                                            const ControllerOptions& options) {
  for (const Entry& entry : kTable) {
    if (entry.name == name) return entry.make(options);
  }
  return nullptr;
}

std::span<const std::string_view> controller_names() { return kNames; }

}  // namespace heddle::transport
