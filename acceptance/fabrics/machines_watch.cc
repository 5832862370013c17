// See machines_watch.h.
#include "acceptance/fabrics/machines_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "lab/link_meter.h"

namespace heddle::acceptance {

Result<void> MachinesWatch::look() {
  for (Port& port : ports_) {
    const std::string text = commands_.output_of(port.counters, port.read);
    size_t from = 0;
    for (size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
      const std::string_view line = std::string_view(text).substr(from, end - from);
      const auto counters = parse_port_counters(line);
      if (counters) port.load.add(*counters);
      if (line.starts_with('{')) take_nics(line, port);
    }
    port.read += from;
    commands_.drop_output(port.counters, port.read);
  }
  return {};
}

void MachinesWatch::take_nics(std::string_view line, Port& port) {
  const Json document = machine_document(std::string(line));
  if (document.is_object() && document.contains("nics")) {
    port.nics = nic_counts_in(document.at("nics"));
  }
}

std::vector<PlaceCounts> MachinesWatch::nics() {
  static_cast<void>(look());
  std::vector<PlaceCounts> all;
  for (const Port& port : ports_) {
    if (!port.nics.empty()) all.push_back({.place = port.machine, .nics = port.nics, .tested = ""});
  }
  return all;
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
  std::vector<CarriedLoad> loads(links_, CarriedLoad{.known = false});
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
  Result<void> caught;
  for (size_t i = 0; i < ports_.size() && !interrupted_();) {
    Port& port = ports_[i];
    if (port.lost || port.load.lines() >= wanted[i]) {
      ++i;
    } else if (!commands_.is_running(port.counters)) {
      caught = lose(port, complaint_of(commands_.result_of(port.counters)));
    } else if (lab::meter_now() > end) {
      caught = lose(port, "it does not answer");
    } else {
      usleep(5'000);
      static_cast<void>(look());
    }
  }
  return caught;
}

Unexpected MachinesWatch::lose(Port& port, const std::string& complaint) {
  port.lost = true;
  lost_(port.machine, complaint);
  return fail(ErrorCode::kUnavailable, fmt::format("cannot read the counters of {}", port.machine),
              complaint, "see whether it can still be reached");
}

}  // namespace heddle::acceptance
