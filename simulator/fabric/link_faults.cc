// LinkFaultDraws: see link_faults.h.
#include "simulator/fabric/link_faults.h"

namespace heddle::simulator {

bool LinkFaultDraws::duplicates(LinkId link) {
  return states_[link].hits(states_[link].faults.duplicate_per_million);
}

LinkFaultDraws::Corrupted LinkFaultDraws::apply(LinkId link, Packet& packet, PacketStore& packets) {
  State& state = states_[link];
  const topology::LinkFaults& faults = state.faults;
  Corrupted corrupted;
  if (state.hits(faults.loss_per_million)) packet.lost = true;
  if (state.hits(faults.corrupt_header_per_million) && packet.header_bytes > 0) {
    const uint64_t bit = state.random.below(uint64_t{packet.header_bytes} * 8);
    packets.bytes(packet)[bit / 8] ^= std::byte(1u << (bit % 8));
    packet.header_corrupt = corrupted.header = true;
  }
  if (state.hits(faults.corrupt_payload_per_million) && packet.payload_bytes > 0) {
    packet.payload_corrupt = corrupted.payload = true;
  }
  if (state.hits(faults.reorder_per_million)) {
    const auto least = static_cast<uint64_t>(faults.reorder_min.count);
    const auto most = static_cast<uint64_t>(faults.reorder_max.count);
    packet.reordered = true;
    packet.held_back = nanos(static_cast<int64_t>(state.random.between(least, most)));
  }
  return corrupted;
}

}  // namespace heddle::simulator
