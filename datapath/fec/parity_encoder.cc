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

namespace {

size_t parity_bytes(size_t runs, size_t symbol) {
  return kParityHeaderBytes + kRunBytes * runs + symbol;
}

}  // namespace

ParityEncoder::ParityEncoder(const FecOptions& options, size_t most_bytes, size_t most_parity,
                             Send send)
    : options_(options),
      most_symbol_(symbol_bytes(most_bytes)),
      most_parity_(std::min(most_parity, most_bytes + kMostParityOverhead)),
      send_(std::move(send)),
      datagrams_(std::make_unique_for_overwrite<std::byte[]>(options.parity * most_parity_)) {
  groups_.reserve(fec_params::kMostGroups);
}

void ParityEncoder::add(Nanos now, const TxBurst& burst, const PacketIdentity& packet,
                        std::span<const std::byte> first, std::span<const std::byte> second) {
  const size_t bytes = symbol_bytes(first.size() + second.size());
  CHECK(bytes <= most_symbol_);
  if (packet.path > UINT8_MAX || parity_bytes(1, bytes) > most_parity_) return;
  Group* const group = group_of(now, burst, packet, bytes);
  if (group == nullptr) return;
  const uint32_t member = group->list.members - 1u;
  for (uint32_t i = 0; i < options_.parity; ++i) {
    const std::span<std::byte> sum = row(*group, i);
    if (bytes > group->symbol_bytes) {
      std::ranges::fill(sum.subspan(group->symbol_bytes, bytes - group->symbol_bytes),
                        std::byte{0});
    }
    add_symbol(sum, coefficient(i, member), first, second);
  }
  group->symbol_bytes = std::max(group->symbol_bytes, bytes);
  group->added = now;
  if (group->list.members == options_.data) finish(*group);
}

// The group that the packet, whose symbol has `bytes`, was made a member of. Null: there is none.
ParityEncoder::Group* ParityEncoder::group_of(Nanos now, const TxBurst& burst,
                                              const PacketIdentity& packet, size_t bytes) {
  Group* chosen = nullptr;
  for (Group& group : groups_) {
    if (!group.open || group.list.connection != packet.connection || group.way.to != burst.to) {
      continue;
    }
    if (take_name(group, packet, bytes)) return &group;
    finish(group);
    chosen = &group;
    break;
  }
  if (chosen == nullptr) chosen = free_group(now);
  if (chosen == nullptr) return nullptr;
  chosen->open = true;
  chosen->way = burst;
  chosen->list = {.connection = packet.connection};
  chosen->symbol_bytes = 0;
  chosen->began = now;
  CHECK(take_name(*chosen, packet, bytes));
  return chosen;
}

// One that is not open, a further one, or one that is due. Others do not end early: each would have
// a row of parity for few packets.
ParityEncoder::Group* ParityEncoder::free_group(Nanos now) {
  Group* due = nullptr;
  for (Group& group : groups_) {
    if (!group.open) return &group;
    if (due == nullptr && group.due_at() <= now) due = &group;
  }
  if (groups_.size() < fec_params::kMostGroups) {
    Group& added = groups_.emplace_back();
    added.rows = std::make_unique_for_overwrite<std::byte[]>(options_.parity * most_symbol_);
    return &added;
  }
  if (due != nullptr) finish(*due);
  return due;
}

// False: the parity has no space for it.
bool ParityEncoder::take_name(Group& group, const PacketIdentity& packet, size_t bytes) const {
  MemberList& list = group.list;
  const auto number = static_cast<uint16_t>(packet.number);
  MemberRun* const last = list.run_count > 0 ? &list.runs[list.run_count - 1u] : nullptr;
  const bool follows = last != nullptr && last->path == packet.path &&
                       static_cast<uint16_t>(last->number + last->count) == number;
  const size_t runs = list.run_count + (follows ? 0u : 1u);
  if (runs > list.runs.size()) return false;
  if (parity_bytes(runs, std::max(bytes, group.symbol_bytes)) > most_parity_) return false;
  if (follows) {
    ++last->count;
  } else {
    list.runs[list.run_count++] = {static_cast<uint8_t>(packet.path), 1, number};
  }
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
  const size_t bytes = parity_bytes(group.list.run_count, group.symbol_bytes);
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
