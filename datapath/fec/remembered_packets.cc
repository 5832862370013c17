// See remembered_packets.h.
#include "datapath/fec/remembered_packets.h"

#include <cstring>

#include "base/check.h"

namespace heddle::datapath {

using transport::PacketIdentity;

RememberedPackets::RememberedPackets(size_t bytes, size_t most)
    : capacity_(bytes), most_(most), bytes_(std::make_unique_for_overwrite<std::byte[]>(bytes)) {
  kept_.reserve(most);
}

void RememberedPackets::keep(const PacketIdentity& packet, std::span<const std::byte> datagram) {
  CHECK(datagram.size() <= capacity_);
  if (datagram.size() > capacity_ - end_) {
    // The end stays unused; the datagrams in it are the oldest.
    while (!kept_.empty() && kept_.front().at >= end_) kept_.pop_front();
    end_ = 0;
  }
  const size_t at = end_;
  end_ += datagram.size();
  const auto overwritten = [&] { return kept_.front().at >= at && kept_.front().at < end_; };
  while (!kept_.empty() && (kept_.size() == most_ || overwritten())) kept_.pop_front();
  std::memcpy(bytes_.get() + at, datagram.data(), datagram.size());
  kept_.push_back({packet, at, datagram.size()});
}

// The newest first: mostly the group has just arrived.
uint32_t RememberedPackets::find(const MemberList& list, Found& found) const {
  found.fill({});
  auto missing = static_cast<uint32_t>((uint64_t{1} << list.members) - 1);
  for (size_t left = kept_.size(); left > 0 && missing != 0; --left) {
    const Kept& each = kept_[left - 1];
    if (each.packet.connection != list.connection) continue;
    const auto member = list.find(each.packet);
    if (!member || (missing >> *member & 1) == 0) continue;
    missing &= ~(1u << *member);
    found[*member] = {bytes_.get() + each.at, each.bytes};
  }
  return missing;
}

}  // namespace heddle::datapath
