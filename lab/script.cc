// See script.h.
#include "lab/script.h"

#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <map>

#include "lab/conditions.h"
#include "lab/faults.h"
#include "topology/names.h"

namespace heddle::lab {
namespace {

std::string change_text(const topology::Topology& topology, const topology::LinkChange& change) {
  const topology::Link& link = topology.links[change.link];
  std::string where = topology::link_label(topology, change.link);
  if (change.direction == topology::LinkDirection::kForward) {
    where = topology::node_label(topology, link.a) + " > " + topology::node_label(topology, link.b);
  } else if (change.direction == topology::LinkDirection::kBackward) {
    where = topology::node_label(topology, link.b) + " > " + topology::node_label(topology, link.a);
  }
  switch (change.kind) {
    case topology::LinkChangeKind::kDown:
      return where + ": nothing passes";
    case topology::LinkChangeKind::kNotice:
      return where + ": down";
    case topology::LinkChangeKind::kUp:
      return where + ": up";
    case topology::LinkChangeKind::kRate:
      return where + ": " + rate_name(change.rate);
    case topology::LinkChangeKind::kFaults:
      return fmt::format(
          "{}: loss {:g}%, corrupt {:g}%, reorder {:g}%", where,
          change.faults.loss_per_million / 1e4,
          (change.faults.corrupt_header_per_million + change.faults.corrupt_payload_per_million) /
              1e4,
          change.faults.reorder_per_million / 1e4);
  }
  return where;
}

void add_text(ScriptStep& step, const std::string& text) {
  step.text += (step.text.empty() ? "" : "; ") + text;
}

Nanos clock_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now.tv_sec) + nanos(now.tv_nsec);
}

// Sleeps until `when`; returns false if `stop` returns true before.
bool sleep_until(Nanos when, const std::function<bool()>& stop) {
  for (;;) {
    if (stop()) return false;
    if (clock_now() >= when) return true;
    const timespec until{when.count / 1'000'000'000, when.count % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // a signal interrupts it
  }
}

}  // namespace

std::vector<ScriptStep> script_steps(const topology::Topology& topology) {
  std::map<int64_t, ScriptStep> steps;
  for (const topology::LinkChange& change : topology.changes) {
    ScriptStep& step = steps[change.at.count];
    step.links.push_back(change);
    add_text(step, change_text(topology, change));
  }
  for (const topology::HostChange& change : topology.host_changes) {
    ScriptStep& step = steps[change.at.count];
    step.hosts.push_back(change);
    add_text(step, topology.hosts[change.host].name + (change.paused ? ": paused" : ": goes on"));
  }
  std::vector<ScriptStep> list;
  for (auto& [at, step] : steps) {
    step.at = nanos(at);
    list.push_back(std::move(step));
  }
  return list;
}

Result<void> play_script(const Lab& lab, const std::function<bool()>& stop,
                         const std::function<void(const ScriptStep&)>& tell) {
  const Nanos start = clock_now();
  for (const ScriptStep& step : script_steps(lab.layout.topology)) {
    if (!sleep_until(start + step.at, stop)) return {};
    if (!step.links.empty()) {
      if (Result<void> done = change_links(lab, step.links); !done) return done;
    }
    for (const topology::HostChange& change : step.hosts) {
      const Result<size_t> done = pause_host(lab, change.host, change.paused);
      if (!done) return fail(done.error());
    }
    tell(step);
  }
  return {};
}

}  // namespace heddle::lab
