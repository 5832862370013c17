// Port counters: what one port of a machine has sent and received, and how a link's loads come of
// them. The machine writes a line of them each kMeterInterval; the test reads the lines.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "acceptance/link_verdicts.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

struct PortDirection {
  uint64_t bytes = 0;  // with Ethernet headers
  uint64_t packets = 0;
  uint64_t dropped = 0;  // by a full queue
  uint64_t errors = 0;

  bool operator==(const PortDirection&) const = default;
};

struct PortCounters {
  Nanos at;  // by the machine's monotonic clock
  PortDirection sent;
  PortDirection received;

  bool operator==(const PortCounters&) const = default;
};

// Of this machine, from the kernel's statistics of a device. Errors: kUnavailable.
Result<PortCounters> read_port(const std::string& device);

// A line without a newline, and what one says; nothing for what is none.
std::string line_of(const PortCounters& counters);
std::optional<PortCounters> parse_port_counters(std::string_view line);

// One port's loads, from its counters as they come. Sent is forward.
class PortLoad {
 public:
  // Of a later time than those before.
  void add(const PortCounters& counters);
  // Counts from the newest counters on.
  void restart();

  uint64_t lines() const { return lines_; }
  CarriedLoad load() const { return load_since(start_); }
  // Since the first counters, but for the highest rates.
  CarriedLoad total() const { return load_since(first_); }

 private:
  CarriedLoad load_since(const PortCounters& start) const;

  uint64_t lines_ = 0;
  PortCounters first_;
  PortCounters start_;
  std::deque<PortCounters> recent_;  // of the last kPeakSpan
  double sent_peak_ = 0;             // bits/s
  double received_peak_ = 0;
};

}  // namespace heddle::acceptance
