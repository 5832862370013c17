// See machines_watch.h.
#include "acceptance/fabrics/machines_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

#include "acceptance/params.h"
#include "lab/link_meter.h"

namespace heddle::acceptance {

Result<void> MachinesWatch::look() {
  for (Port& port : ports_) {
    const std::string text = commands_.output_of(port.counters, port.read);
    size_t from = 0;
    for (size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
      const auto counters = parse_port_counters(std::string_view(text).substr(from, end - from));
      if (counters) port.load.add(*counters);
    }
    port.read += from;
  }
  return {};
}

Result<std::vector<CarriedLoad>> MachinesWatch::loads() {
  if (Result<void> caught = catch_up(); !caught) return fail(caught.error());
  return by_link(&PortLoad::load);
}

Result<std::vector<CarriedLoad>> MachinesWatch::totals() {
  static_cast<void>(look());
  return by_link(&PortLoad::total);
}

std::vector<CarriedLoad> MachinesWatch::by_link(CarriedLoad (PortLoad::*load_of)() const) const {
  std::vector<CarriedLoad> loads(links_);
  for (const Port& port : ports_) {
    CarriedLoad load = (port.load.*load_of)();
    if (!port.forward) {
      std::swap(load.forward, load.backward);
      std::swap(load.forward_packets, load.backward_packets);
    }
    loads[port.link] = load;
  }
  return loads;
}

Result<void> MachinesWatch::restart() {
  if (Result<void> caught = catch_up(); !caught) return caught;
  for (Port& port : ports_) port.load.restart();
  return {};
}

Result<void> MachinesWatch::catch_up() {
  static_cast<void>(look());
  std::vector<uint64_t> wanted;
  for (const Port& port : ports_) wanted.push_back(port.load.lines() + 2);
  const Nanos end = lab::meter_now() + params::kFactsTime;
  for (size_t i = 0; i < ports_.size() && !interrupted_();) {
    if (ports_[i].load.lines() >= wanted[i]) {
      ++i;
      continue;
    }
    if (!commands_.is_running(ports_[i].counters) || lab::meter_now() > end) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("cannot read the counters of {}", ports_[i].machine),
                  commands_.is_running(ports_[i].counters)
                      ? "it does not answer"
                      : complaint_of(commands_.result_of(ports_[i].counters)),
                  "see whether it can still be reached");
    }
    usleep(5'000);
    static_cast<void>(look());
  }
  return {};
}

}  // namespace heddle::acceptance
