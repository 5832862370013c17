// ChangeScript: see change_script.h.
#include "simulator/flows/change_script.h"

#include <algorithm>

namespace heddle::simulator {
namespace {

template <typename Change>
std::vector<Change> by_time(std::vector<Change> changes) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

}  // namespace

ChangeScript::ChangeScript(const topology::Topology& topology)
    : links_{by_time(topology.changes)}, hosts_{by_time(topology.host_changes)} {}

Nanos ChangeScript::next_at() const { return std::min(links_.next_at(), hosts_.next_at()); }

}  // namespace heddle::simulator
