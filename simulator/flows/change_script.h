// ChangeScript: a topology's changes of links and hosts in the order of their times, which count
// from time 0 of a run, and which of them have been made.
#pragma once

#include <cstddef>
#include <vector>

#include "base/nanos.h"
#include "topology/topology.h"

namespace heddle::simulator {

class ChangeScript {
 public:
  explicit ChangeScript(const topology::Topology& topology);

  // The next change that is due at that time, once; null: none.
  const topology::LinkChange* take_link_change(Nanos at) { return links_.take(at); }
  const topology::HostChange* take_host_change(Nanos at) { return hosts_.take(at); }
  // Of the next one; never(): there is none.
  Nanos next_at() const;

 private:
  template <typename Change>
  struct Row {
    std::vector<Change> changes;
    size_t made = 0;

    const Change* take(Nanos at) {
      return made < changes.size() && changes[made].at <= at ? &changes[made++] : nullptr;
    }
    Nanos next_at() const { return made < changes.size() ? changes[made].at : Nanos::never(); }
  };

  Row<topology::LinkChange> links_;
  Row<topology::HostChange> hosts_;
};

}  // namespace heddle::simulator
