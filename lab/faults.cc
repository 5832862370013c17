// See faults.h. A link that goes down is set down at the switch's end, so that the other end loses
// its carrier as with a pulled cable. Then all switches get routes around it.
#include "lab/faults.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <set>

#include "lab/batches.h"
#include "lab/build.h"
#include "lab/delays.h"
#include "lab/filters.h"
#include "lab/processes.h"
#include "lab/queues.h"
#include "lab/routes.h"
#include "lab/tool.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

// The commands for one place.
struct Steps {
  std::string links;   // for ip, first
  std::string queues;  // for tc
  std::string filter;  // for nft
  std::string routes;  // for ip, last
  bool single_packets = false;
};

class Transition {
 public:
  Transition(const Layout& layout, const Conditions& before, const Conditions& now)
      : layout_(layout), before_(before), now_(now), steps_(layout.places.size()) {
    for (uint32_t link = 0; link < layout.topology.links.size(); ++link) {
      plan_direction(link, true);
      plan_direction(link, false);
      if (before.links[link].down != now.links[link].down) plan_carrier(link);
    }
    if (before.up() != now.up()) plan_routes();
  }

  void stop_offloads_everywhere() {
    for (size_t at = 0; at < steps_.size(); ++at) {
      steps_[at].single_packets = !layout_.places[at].is_switch;
    }
  }

  Result<void> run() const {
    Workers workers;
    for (size_t at = 0; at < steps_.size(); ++at) {
      const Steps& steps = steps_[at];
      const bool idle = steps.links.empty() && steps.queues.empty() && steps.filter.empty() &&
                        steps.routes.empty() && !steps.single_packets;
      if (idle) continue;
      workers.start([this, at] { return take(layout_.places[at], steps_[at]); });
    }
    if (!middle_.empty()) workers.start([this] { return take_middle(); });
    if (const auto done = workers.finish(); !done) return fail(done.error());
    return {};
  }

 private:
  void plan_direction(uint32_t link, bool forward) {
    const auto side = [&](const Conditions& all) -> const DirectionCondition& {
      return forward ? all.links[link].forward : all.links[link].backward;
    };
    const DirectionCondition& before = side(before_);
    const DirectionCondition& now = side(now_);
    if (before == now) return;
    const Port& sender = layout_.sender(link, forward);
    Steps& sending = steps_[sender.place];
    if (before.rate != now.rate ||
        before.faults.reorder_per_million != now.faults.reorder_per_million) {
      sending.queues += queue_change(sender, layout_.topology.links[link].shape, before, now);
      sending.filter += sender_filter(layout_, link, forward, now);
    }
    steps_[layout_.receiver(link, forward).place].filter +=
        receiver_filter(layout_, link, forward, now);
  }

  const Port& switch_end(uint32_t link) const {
    return layout_.places[layout_.b(link).place].is_switch ? layout_.b(link) : layout_.a(link);
  }

  void plan_carrier(uint32_t link) {
    const Port& port = switch_end(link);
    Steps& steps = steps_[port.place];
    if (is_delayed(layout_.topology.links[link])) plan_middle(link);
    if (now_.links[link].down) {
      steps.links += fmt::format("link set dev {} down\n", port.device);
      return;
    }
    steps.links += port_batch(layout_, port);
    const Place& place = layout_.places[port.place];
    if (!place.is_switch) steps.routes += host_route_batch(layout_, place);
    restored_.insert(port.place);
  }

  // The halves of a cut link do not share a carrier, so both are set.
  void plan_middle(uint32_t link) {
    for (const bool to_a : {true, false}) {
      middle_ += fmt::format("link set dev {} {}\n", delay_device(link, to_a),
                             now_.links[link].down ? "down" : "up");
    }
  }

  Result<std::string> take_middle() const {
    if (auto in = enter_namespace(delay_netns(layout_), false); !in) return fail(in.error());
    if (auto done = run_batch({"ip"}, middle_); !done) return fail(done.error());
    return std::string();
  }

  // Restores all routes of a place whose device came back, since the kernel removed those of IPv6;
  // elsewhere only the routes that differ.
  void plan_routes() {
    const NextHops before = next_hops(layout_, before_.up());
    const NextHops now = next_hops(layout_, now_.up());
    for (uint32_t at = 0; at < layout_.places.size(); ++at) {
      if (!layout_.places[at].is_switch) continue;
      if (before[at] == now[at] && !restored_.contains(at)) continue;
      steps_[at].routes += switch_route_batch(layout_, at, now);
    }
  }

  Result<std::string> take(const Place& place, const Steps& steps) const {
    if (Result<void> in = enter_namespace(place.netns, false); !in) return fail(in.error());
    const Result<void> done[] = {run_batch({"ip"}, steps.links), run_batch({"tc"}, steps.queues),
                                 run_filter(steps.filter), run_batch({"ip"}, steps.routes)};
    for (const Result<void>& each : done) {
      if (!each) return fail(each.error());
    }
    if (!steps.single_packets) return std::string();
    for (const uint32_t at : place.ports) {
      if (auto stopped = stop_offloads(layout_.ports[at]); !stopped) {
        return fail(stopped.error());
      }
    }
    return std::string();
  }

  const Layout& layout_;
  const Conditions& before_;
  const Conditions& now_;
  std::vector<Steps> steps_;
  std::string middle_;           // for ip, in the middle namespace of delayed links
  std::set<uint32_t> restored_;  // places with a device that came back
};

Result<void> move_to(const Lab& lab, const Conditions& before, const Conditions& now) {
  if (Result<void> possible = check_possible(lab.layout, now); !possible) return possible;
  Transition transition(lab.layout, before, now);
  if (!needs_single_packets(lab.layout.topology)) transition.stop_offloads_everywhere();
  if (Result<void> done = transition.run(); !done) return done;
  return save_conditions(lab.state.name, now);
}

}  // namespace

Result<void> check_possible(const Layout& layout, const Conditions& conditions) {
  for (uint32_t link = 0; link < conditions.links.size(); ++link) {
    for (const DirectionCondition& each :
         {conditions.links[link].forward, conditions.links[link].backward}) {
      if (each.faults.reorder_per_million == 0 || each.rate.count != 0) continue;
      return fail(ErrorCode::kInvalid,
                  "cannot reorder on " + topology::link_label(layout.topology, link),
                  "it has no rate, so it has no queue in which a packet could overtake others",
                  "give it a rate, or make the lab with --allow-reorder");
    }
  }
  return {};
}

FaultLock::FaultLock(const std::string& lab)
    : descriptor_(open((lab_folder(lab) + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (descriptor_ >= 0) static_cast<void>(flock(descriptor_, LOCK_EX));
}

FaultLock::~FaultLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> change_links(const Lab& lab, const std::vector<topology::LinkChange>& changes) {
  const FaultLock lock(lab.state.name);
  const Result<Conditions> before = load_conditions(lab.state.name, lab.layout.topology);
  if (!before) return fail(before.error());
  Conditions now = *before;
  for (const topology::LinkChange& change : changes) apply(change, now);
  return move_to(lab, *before, now);
}

Result<void> order_fault(const Lab& lab, const topology::FaultOrder& order) {
  const FaultLock lock(lab.state.name);
  const Result<Conditions> before = load_conditions(lab.state.name, lab.layout.topology);
  if (!before) return fail(before.error());
  Conditions now = *before;
  const LinkCondition& link = before->links[order.ends.link];
  topology::DirectionFaults faults{link.forward.faults, link.backward.faults};
  const topology::Link& original = lab.layout.topology.links[order.ends.link];
  for (const topology::LinkChange& change : topology::changes_of(order, original, faults)) {
    apply(change, now);
  }
  return move_to(lab, *before, now);
}

Result<size_t> pause_host(const Lab& lab, uint32_t host, bool paused) {
  const FaultLock lock(lab.state.name);
  Result<Conditions> conditions = load_conditions(lab.state.name, lab.layout.topology);
  if (!conditions) return fail(conditions.error());
  const size_t reached = signal_processes_in(lab.layout.places[host].netns, paused);
  conditions->paused[host] = paused;
  if (Result<void> saved = save_conditions(lab.state.name, *conditions); !saved) {
    return fail(saved.error());
  }
  return reached;
}

Result<void> clear_faults(const Lab& lab) {
  const FaultLock lock(lab.state.name);
  const Result<Conditions> before = load_conditions(lab.state.name, lab.layout.topology);
  if (!before) return fail(before.error());
  for (uint32_t host = 0; host < before->paused.size(); ++host) {
    if (before->paused[host]) signal_processes_in(lab.layout.places[host].netns, false);
  }
  return move_to(lab, *before, initial_conditions(lab.layout.topology));
}

}  // namespace heddle::lab
