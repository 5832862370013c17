// See port_counters.h.
#include "acceptance/port_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "acceptance/link_watch.h"
#include "acceptance/params.h"
#include "lab/link_meter.h"
#include "nodes/counted.h"

namespace heddle::acceptance {
namespace {

LinkLoad load_of(const PortDirection& before, const PortDirection& now, double peak) {
  return {peak, nodes::counted_since(before.bytes, now.bytes),
          nodes::counted_since(before.dropped, now.dropped),
          nodes::counted_since(before.errors, now.errors)};
}

}  // namespace

Result<PortCounters> read_port(const std::string& device) {
  const std::string folder = "/sys/class/net/" + device + "/statistics/";
  bool read = true;
  const auto value = [&](const char* name) {
    uint64_t number = 0;
    std::ifstream file(folder + name);
    if (!(file >> number)) read = false;
    return number;
  };
  PortCounters counters;
  counters.at = lab::meter_now();
  counters.sent = {value("tx_bytes"), value("tx_packets"), value("tx_dropped"), value("tx_errors")};
  counters.received = {value("rx_bytes"), value("rx_packets"), value("rx_missed_errors"),
                       value("rx_errors")};
  if (read) return counters;
  return fail(ErrorCode::kUnavailable, "cannot read the counters of " + device,
              "the kernel shows none in " + folder, "see `ip link` for the devices");
}

std::string line_of(const PortCounters& counters) {
  const PortDirection& sent = counters.sent;
  const PortDirection& received = counters.received;
  return fmt::format("{} {} {} {} {} {} {} {} {}", counters.at.count, sent.bytes, sent.packets,
                     sent.dropped, sent.errors, received.bytes, received.packets, received.dropped,
                     received.errors);
}

std::optional<PortCounters> parse_port_counters(std::string_view line) {
  std::istringstream stream{std::string(line)};
  PortCounters counters;
  stream >> counters.at.count;
  for (PortDirection* each : {&counters.sent, &counters.received}) {
    stream >> each->bytes >> each->packets >> each->dropped >> each->errors;
  }
  const bool whole = !stream.fail() && (stream >> std::ws).eof() && counters.at.count >= 0;
  return whole ? std::optional(counters) : std::nullopt;
}

void PortLoad::add(const PortCounters& counters) {
  if (lines_ == 0) first_ = start_ = counters;
  ++lines_;
  const auto age = [&](const PortCounters& each) { return counters.at - each.at; };
  while (recent_.size() > 1 && age(recent_[1]) >= params::kPeakSpan) recent_.pop_front();
  if (!recent_.empty() && age(recent_.front()) >= params::kPeakSpan) {
    const PortCounters& before = recent_.front();
    const Nanos span = age(before);
    sent_peak_ = std::max(sent_peak_, rate_between(before.sent.bytes, counters.sent.bytes, span));
    received_peak_ = std::max(received_peak_,
                              rate_between(before.received.bytes, counters.received.bytes, span));
  }
  recent_.push_back(counters);
}

void PortLoad::restart() {
  if (!recent_.empty()) start_ = recent_.back();
  recent_.clear();
  sent_peak_ = received_peak_ = 0;
  recent_.push_back(start_);
}

CarriedLoad PortLoad::load_since(const PortCounters& start) const {
  const PortCounters& now = recent_.empty() ? start : recent_.back();
  return {load_of(start.sent, now.sent, sent_peak_),
          load_of(start.received, now.received, received_peak_),
          nodes::counted_since(start.sent.packets, now.sent.packets),
          nodes::counted_since(start.received.packets, now.received.packets)};
}

}  // namespace heddle::acceptance
