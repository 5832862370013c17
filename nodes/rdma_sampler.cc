// See rdma_sampler.h. The files are read without streams: a machine has hundreds of them.
#include "nodes/rdma_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "nodes/counted.h"
#include "nodes/rdma_ports.h"
#include "nodes/tree_files.h"

namespace heddle::nodes {
namespace {

// In the order of the event's fields; the last one takes all other counters of errors.
constexpr std::array<std::string_view, 11> kPlaces = {"port_rcv_data",
                                                      "port_xmit_data",
                                                      "out_of_sequence",
                                                      "packet_seq_err",
                                                      "local_ack_timeout_err",
                                                      "rnr_nak_retry_err",
                                                      "out_of_buffer",
                                                      "np_cnp_sent",
                                                      "rp_cnp_handled",
                                                      "link_downed",
                                                      ""};
constexpr size_t kOthers = kPlaces.size() - 1;
constexpr uint64_t kDataUnit = 4;  // bytes; of the InfiniBand specification

using Sums = std::array<uint64_t, kPlaces.size()>;

// Nothing: it cannot be read, as while a device is reset.
std::optional<uint64_t> read_count(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text{};
  const ssize_t got = file.valid() ? read(file.number(), text.data(), text.size()) : -1;
  uint64_t value = 0;
  if (got <= 0) return std::nullopt;
  const auto parsed = std::from_chars(text.data(), text.data() + got, value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

uint32_t narrow(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

events::RdmaPortSampled event_of(const Sums& sums) {
  events::RdmaPortSampled event;
  event.received_bytes = sums[0] * kDataUnit;
  event.sent_bytes = sums[1] * kDataUnit;
  event.out_of_sequence = narrow(sums[2]);
  event.packet_seq_err = narrow(sums[3]);
  event.local_ack_timeout_err = narrow(sums[4]);
  event.rnr_nak_retry_err = narrow(sums[5]);
  event.out_of_buffer = narrow(sums[6]);
  event.np_cnp_sent = narrow(sums[7]);
  event.rp_cnp_handled = narrow(sums[8]);
  event.link_downed = narrow(sums[9]);
  event.other_errors = narrow(sums[kOthers]);
  return event;
}

}  // namespace

RdmaSampler::RdmaSampler(const std::filesystem::path& sys) {
  for (const RdmaPort& port : rdma_ports(sys)) {
    Port made{.device = port.device, .state = port.folder / "state", .counters = {}};
    std::from_chars(port.port.data(), port.port.data() + port.port.size(), made.number);
    for (const char* const folder : {"counters", "hw_counters"}) {
      for (const std::string& name : names_in(port.folder / folder)) {
        const auto place = std::find(kPlaces.begin(), kPlaces.end(), name);
        if (place == kPlaces.end() && !is_error_counter(name)) continue;
        const size_t index =
            place == kPlaces.end() ? kOthers : static_cast<size_t>(place - kPlaces.begin());
        made.counters.push_back({port.folder / folder / name, index});
      }
    }
    ports_.push_back(std::move(made));
  }
}

std::vector<events::RdmaPortSampled> RdmaSampler::take(Nanos now) {
  std::vector<events::RdmaPortSampled> events;
  for (Port& port : ports_) {
    Sums sums{};
    for (Counter& counter : port.counters) {
      const std::optional<uint64_t> value = read_count(counter.path);
      if (!value) continue;
      if (counter.value) sums[counter.place] += counted_since(*counter.value, *value);
      counter.value = value;
    }
    constexpr uint64_t kActive = 4;
    const std::optional<uint64_t> state = read_count(port.state);
    const std::optional<bool> before = port.active;
    if (state) port.active = *state == kActive;
    const bool changed = before && port.active != before;
    const bool counted =
        std::any_of(sums.begin(), sums.end(), [](uint64_t sum) { return sum > 0; });
    if (!taken_ || (!counted && !changed)) continue;
    events::RdmaPortSampled event = event_of(sums);
    event.time = now;
    event.device = events::Text(port.device);
    event.port = port.number;
    event.span = now - taken_at_;
    event.active = port.active.value_or(false);
    events.push_back(event);
  }
  taken_ = true;
  taken_at_ = now;
  return events;
}

}  // namespace heddle::nodes
