// See parity_encoder.h.
#include "datapath/fec/parity_encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "datapath/fec/field.h"

namespace heddle::datapath {

using transport::PacketIdentity;
using transport::TxBurst;

ParityEncoder::ParityEncoder(const FecOptions& options, size_t most_bytes, Send send)
    : options_(options),
      most_symbol_(symbol_bytes(most_bytes)),
      send_(std::move(send)),
      groups_(fec_params::kMostGroups),
      datagrams_(std::make_unique_for_overwrite<std::byte[]>(options.parity *
                                                             (most_bytes + kMostParityOverhead))) {
  for (Group& group : groups_) {
    group.rows = std::make_unique_for_overwrite<std::byte[]>(options_.parity * most_symbol_);
  }
}

void ParityEncoder::add(Nanos now, const TxBurst& burst, const PacketIdentity& packet,
                        std::span<const std::byte> first, std::span<const std::byte> second) {
  if (packet.path > UINT8_MAX) return;
  Group& group = group_of(now, burst, packet);
  const size_t bytes = symbol_bytes(first.size() + second.size());
  CHECK(bytes <= most_symbol_);
  const uint32_t member = group.list.members - 1u;
  for (uint32_t i = 0; i < options_.parity; ++i) {
    const std::span<std::byte> sum = row(group, i);
    if (bytes > group.symbol_bytes) {
      std::ranges::fill(sum.subspan(group.symbol_bytes, bytes - group.symbol_bytes), std::byte{0});
    }
    add_symbol(sum, coefficient(i, member), first, second);
  }
  group.symbol_bytes = std::max(group.symbol_bytes, bytes);
  group.added = now;
  if (group.list.members == options_.data) finish(group);
}

// The group that the packet was made a member of.
ParityEncoder::Group& ParityEncoder::group_of(Nanos now, const TxBurst& burst,
                                              const PacketIdentity& packet) {
  Group* chosen = nullptr;
  for (Group& group : groups_) {
    if (group.open && group.list.connection == packet.connection && group.way.to == burst.to) {
      if (take_name(group.list, packet)) return group;
      finish(group);
      chosen = &group;
      break;
    }
    const bool better =
        chosen == nullptr || (chosen->open && (!group.open || group.began < chosen->began));
    if (better) chosen = &group;
  }
  if (chosen->open) finish(*chosen);
  chosen->open = true;
  chosen->way = burst;
  chosen->list = {.connection = packet.connection};
  chosen->symbol_bytes = 0;
  chosen->began = now;
  CHECK(take_name(chosen->list, packet));
  return *chosen;
}

// False: it needs a further run.
bool ParityEncoder::take_name(MemberList& list, const PacketIdentity& packet) {
  const auto number = static_cast<uint16_t>(packet.number);
  if (list.run_count > 0) {
    MemberRun& last = list.runs[list.run_count - 1u];
    if (last.path == packet.path && static_cast<uint16_t>(last.number + last.count) == number) {
      ++last.count;
      ++list.members;
      return true;
    }
  }
  if (list.run_count == list.runs.size()) return false;
  list.runs[list.run_count++] = {static_cast<uint8_t>(packet.path), 1, number};
  ++list.members;
  return true;
}

// Parity leaves on the path of the group's first datagrams, which often is another than that of the
// last ones: what interrupts one does not take all.
void ParityEncoder::finish(Group& group) {
  group.open = false;
  Parity parity{.group = next_group_++, .list = group.list};
  // A part of a group has its part of the parity.
  const uint32_t rows =
      (uint32_t{group.list.members} * options_.parity + options_.data - 1) / options_.data;
  const size_t bytes = kParityHeaderBytes + kRunBytes * group.list.run_count + group.symbol_bytes;
  for (uint32_t i = 0; i < rows; ++i) {
    const std::span<std::byte> to(datagrams_.get() + i * bytes, bytes);
    parity.row = static_cast<uint8_t>(i);
    const size_t header = write_parity_header(parity, to);
    std::memcpy(to.data() + header, row(group, i).data(), group.symbol_bytes);
  }
  TxBurst burst;
  burst.to = group.way.to;
  burst.path = group.way.path;
  burst.nic = group.way.nic;
  burst.peer_nic = group.way.peer_nic;
  burst.segments = static_cast<uint16_t>(rows);
  burst.header_bytes = static_cast<uint16_t>(bytes);
  // It is longer than the datagrams, and the path may take no more than those.
  burst.may_fragment = true;
  burst.headers = datagrams_.get();
  send_(burst);
}

void ParityEncoder::send_due(Nanos now) {
  for (Group& group : groups_) {
    if (group.open && group.due_at() <= now) finish(group);
  }
}

Nanos ParityEncoder::due_at() const {
  Nanos due = Nanos::never();
  for (const Group& group : groups_) {
    if (group.open) due = std::min(due, group.due_at());
  }
  return due;
}

}  // namespace heddle::datapath
