// See filters.h.
//
// Marks come from a virtual queue: a token bucket at 95% of the link's rate whose depth is the ECN
// threshold. The queueing disciplines of the lab do not mark, and a bucket at the full rate would
// not mark before the real queue is full. The bucket of nftables counts packets (in byte mode it
// holds the data of a whole second), so each packet is counted with a probability equal to its
// length relative to a full packet.
//
// Corruption flips one bit at one of several offsets from the UDP header, in heddle's header or in
// the payload. The checksum stays as the sender computed it (build.h enables checksums), so the
// receiving kernel drops the packet, as it would after corruption on a cable.
#include "lab/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/params.h"
#include "lab/queues.h"

namespace heddle::lab {
namespace {

constexpr uint32_t kUdpHeaderBytes = 8;
constexpr uint64_t kFrameHeaderBytes = 14;
// Largest first: in a packet too short for an offset, the next one is used.
constexpr std::array<uint32_t, 6> kHeaderOffsets = {37, 30, 22, 13, 6, 0};
constexpr std::array<uint32_t, 8> kPayloadOffsets = {8'000, 4'000, 1'380, 1'000, 600, 250, 90, 41};

bool marks(const topology::LinkShape& shape, const DirectionCondition& condition) {
  return shape.ecn_threshold.count != UINT64_MAX && condition.rate.count != 0;
}

// Creates a base chain on a device, or empties it.
std::string base_chain(const std::string& name, const char* hook, const Port& port) {
  return fmt::format(
      "add table netdev heddle\n"
      "add chain netdev heddle {} {{ type filter hook {} device \"{}\" priority 0; }}\n"
      "flush chain netdev heddle {}\n",
      name, hook, port.device, name);
}

std::string side_chain(const std::string& name) {
  return fmt::format("add chain netdev heddle {}\nflush chain netdev heddle {}\n", name, name);
}

std::string counter(const char* what, uint32_t link) {
  return fmt::format("add counter netdev heddle {}_{}\n", what, link);
}

std::string chance(uint32_t per_million) {
  return fmt::format("numgen random mod 1000000 < {}", per_million);
}

// Sends a sample of the packets to the token bucket, by their length class.
std::string sampling_rules(uint32_t link, uint64_t full_bytes) {
  std::string text;
  for (uint64_t part = 1; part < params::kLengthParts; ++part) {
    text += fmt::format(
        "add rule netdev heddle out_{} meta length {}-{} numgen random mod {} < {} jump queue_{}\n",
        link, full_bytes * (part - 1) / params::kLengthParts + 1,
        full_bytes * part / params::kLengthParts, params::kLengthParts, part, link);
  }
  return text + fmt::format("add rule netdev heddle out_{} meta length > {} jump queue_{}\n", link,
                            full_bytes * (params::kLengthParts - 1) / params::kLengthParts, link);
}

std::string mark_rules(uint32_t link, const topology::LinkShape& shape, BitsPerSec rate) {
  const uint64_t full_bytes = shape.mtu_bytes + kFrameHeaderBytes;
  const uint64_t depth = std::max<uint64_t>(shape.ecn_threshold.count / full_bytes, 2);
  const uint64_t full_per_s = std::max<uint64_t>(marking_rate(rate).count / 8 / full_bytes, 1);
  const std::string mark = fmt::format("mark_{}", link);
  const std::string queue = fmt::format("queue_{}", link);
  std::string text = counter("marked", link) + side_chain(mark) + side_chain(queue);
  for (const char* const family : {"ip", "ip6"}) {
    text += fmt::format(
        "add rule netdev heddle {} {} ecn {{ ect0, ect1 }} counter name \"marked_{}\" {} ecn set "
        "ce\n",
        mark, family, link, family);
  }
  text +=
      fmt::format("add rule netdev heddle {} limit rate over {}/second burst {} packets jump {}\n",
                  queue, full_per_s, depth, mark);
  return text + sampling_rules(link, full_bytes);
}

// Chooses one of the offsets with equal probability; each rule takes its share of the remaining
// packets.
template <size_t N>
std::string flip_rules(const std::string& chain, uint32_t link,
                       const std::array<uint32_t, N>& offsets) {
  std::string text = side_chain(chain);
  for (size_t i = 0; i < N; ++i) {
    const std::string choice = i + 1 == N ? "" : fmt::format("numgen random mod {} 0 ", N - i);
    const std::string place = fmt::format("@th,{},8", (kUdpHeaderBytes + offsets[i]) * 8);
    text += fmt::format(
        "add rule netdev heddle {} {}{} set {} ^ 0x{:02x} counter name \"corrupted_{}\" return\n",
        chain, choice, place, place, 1U << (i % 8), link);
  }
  return text;
}

std::string corrupt_rules(uint32_t link, const topology::LinkFaults& faults) {
  const std::string header = fmt::format("flip_header_{}", link);
  const std::string payload = fmt::format("flip_payload_{}", link);
  std::string text = counter("corrupted", link) + flip_rules(header, link, kHeaderOffsets) +
                     flip_rules(payload, link, kPayloadOffsets);
  if (faults.corrupt_header_per_million > 0) {
    text += fmt::format("add rule netdev heddle in_{} {} jump {}\n", link,
                        chance(faults.corrupt_header_per_million), header);
  }
  if (faults.corrupt_payload_per_million > 0) {
    text += fmt::format("add rule netdev heddle in_{} {} jump {}\n", link,
                        chance(faults.corrupt_payload_per_million), payload);
  }
  return text;
}

bool filters_sender(const topology::LinkShape& shape, const DirectionCondition& condition) {
  return marks(shape, condition) || condition.faults.reorder_per_million > 0;
}

bool filters_receiver(const DirectionCondition& condition) {
  return condition.black_hole || condition.faults.loss_per_million > 0 ||
         condition.corrupt_per_million() > 0;
}

}  // namespace

BitsPerSec marking_rate(BitsPerSec rate) { return {rate.count / 100 * 95}; }

std::string sender_filter(const Layout& layout, uint32_t link, bool forward,
                          const DirectionCondition& condition) {
  const topology::LinkShape& shape = layout.topology.links[link].shape;
  std::string text =
      base_chain(fmt::format("out_{}", link), "egress", layout.sender(link, forward));
  if (marks(shape, condition)) text += mark_rules(link, shape, condition.rate);
  if (condition.faults.reorder_per_million > 0) {
    text += counter("fast", link) +
            fmt::format(
                "add rule netdev heddle out_{} {} counter name \"fast_{}\" meta priority set {}\n",
                link, chance(condition.faults.reorder_per_million), link, kFastClass);
  }
  return text;
}

std::string receiver_filter(const Layout& layout, uint32_t link, bool forward,
                            const DirectionCondition& condition) {
  std::string text =
      base_chain(fmt::format("in_{}", link), "ingress", layout.receiver(link, forward));
  if (condition.black_hole) {
    text += counter("hole", link) +
            fmt::format("add rule netdev heddle in_{} counter name \"hole_{}\" drop\n", link, link);
  }
  if (condition.faults.loss_per_million > 0) {
    text += counter("lost", link) +
            fmt::format("add rule netdev heddle in_{} {} counter name \"lost_{}\" drop\n", link,
                        chance(condition.faults.loss_per_million), link);
  }
  if (condition.corrupt_per_million() > 0) text += corrupt_rules(link, condition.faults);
  return text;
}

std::string place_filter(const Layout& layout, const Place& place, const Conditions& conditions) {
  std::string text;
  for (const uint32_t at : place.ports) {
    const Port& port = layout.ports[at];
    const LinkCondition& link = conditions.links[port.link];
    const DirectionCondition& sent = port.at_a ? link.forward : link.backward;
    const DirectionCondition& received = port.at_a ? link.backward : link.forward;
    if (filters_sender(layout.topology.links[port.link].shape, sent)) {
      text += sender_filter(layout, port.link, port.at_a, sent);
    }
    if (filters_receiver(received)) {
      text += receiver_filter(layout, port.link, !port.at_a, received);
    }
  }
  return text;
}

}  // namespace heddle::lab
