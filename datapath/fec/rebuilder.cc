// See rebuilder.h.
#include "datapath/fec/rebuilder.h"

#include <algorithm>
#include <bit>

#include "datapath/fec/field.h"

namespace heddle::datapath {

using transport::PacketIdentity;
using transport::RxRun;

Rebuilder::Rebuilder(size_t most_bytes)
    : most_bytes_(most_bytes),
      most_symbol_(symbol_bytes(most_bytes)),
      kept_(fec_params::kRememberedBytes, fec_params::kMostRemembered),
      pending_(fec_params::kMostPending + 1),
      frames_(std::make_unique_for_overwrite<std::byte[]>(fec_params::kMostRebuilt * most_bytes)) {
  for (Pending& pending : pending_) {
    pending.sums = std::make_unique_for_overwrite<std::byte[]>(kMostFecParity * most_symbol_);
  }
}

void Rebuilder::remember(Nanos now, const PacketIdentity& packet,
                         std::span<const std::byte> datagram) {
  if (datagram.size() > most_bytes_) return;
  kept_.keep(packet, datagram);
  if (live_ > 0) subtract(now, packet, datagram);
}

void Rebuilder::handle(Nanos now, const Parity& parity, const RxRun& origin) {
  if (parity.body.size() > most_symbol_) return;
  Pending* pending = find_pending(now, parity);
  if (pending != nullptr) {
    const auto rows = std::span(pending->rows).first(pending->row_count);
    if (std::ranges::find(rows, parity.row) != rows.end()) return;
  }
  RememberedPackets::Found found;
  const uint32_t missing = kept_.find(parity.list, found);
  if (pending == nullptr) {
    if (missing == 0 || std::popcount(missing) > int{kMostFecParity}) return;
    pending = open(now, parity, origin, missing);
    if (pending == nullptr) return;
  } else if (missing != pending->missing) {
    return end(*pending);  // a member is no longer kept
  }
  for (const std::span<const std::byte> member : found) {
    const bool fits = member.empty() || symbol_bytes(member.size()) <= pending->symbol_bytes;
    if (!fits) return end(*pending);
  }
  add_row(*pending, parity, found);
  try_solve(*pending);
}

Rebuilder::Pending* Rebuilder::find_pending(Nanos now, const Parity& parity) {
  Pending* found = nullptr;
  for (Pending& each : pending_) {
    if (!each.live) continue;
    if (now - each.began > fec_params::kPendingFor) {
      end(each);
    } else if (each.group == parity.group && each.list == parity.list &&
               each.symbol_bytes == parity.body.size()) {
      found = &each;
    }
  }
  return found;
}

// Null: there is no place for it.
Rebuilder::Pending* Rebuilder::open(Nanos now, const Parity& parity, const RxRun& origin,
                                    uint32_t missing) {
  const auto lost = static_cast<uint32_t>(std::popcount(missing));
  Pending* const chosen = lost == 1 ? &pending_.back() : place_for(lost < parity.list.members);
  if (chosen == nullptr) return nullptr;
  if (chosen->live) end(*chosen);
  chosen->live = true;
  ++live_;
  chosen->group = parity.group;
  chosen->list = parity.list;
  chosen->origin = origin;
  chosen->began = now;
  chosen->missing = missing;
  chosen->symbol_bytes = parity.body.size();
  chosen->row_count = 0;
  return chosen;
}

// A free place, or else that of the oldest group of which no member is here: anyone who can write
// a peer's address invents such groups. Of others it is taken only for a group that is `known` to
// have a member here.
Rebuilder::Pending* Rebuilder::place_for(bool known) {
  Pending* chosen = nullptr;
  for (Pending& each : std::span(pending_).first(fec_params::kMostPending)) {
    if (!each.live) return &each;
    if (each.known() && !known) continue;
    const bool better = chosen == nullptr || (chosen->known() && !each.known()) ||
                        (chosen->known() == each.known() && each.began < chosen->began);
    if (better) chosen = &each;
  }
  return chosen;
}

void Rebuilder::end(Pending& pending) {
  pending.live = false;
  --live_;
}

void Rebuilder::add_row(Pending& pending, const Parity& parity,
                        const RememberedPackets::Found& found) {
  const std::span<std::byte> to = sum(pending, pending.row_count);
  std::ranges::copy(parity.body, to.begin());
  for (uint32_t i = 0; i < parity.list.members; ++i) {
    if (!found[i].empty()) add_symbol(to, coefficient(parity.row, i), found[i]);
  }
  pending.rows[pending.row_count++] = parity.row;
}

// A datagram that was missing has arrived after parity, on a slower path.
void Rebuilder::subtract(Nanos now, const PacketIdentity& packet,
                         std::span<const std::byte> datagram) {
  for (Pending& pending : pending_) {
    if (!pending.live) continue;
    const auto member = pending.list.find(packet);
    if (!member || (pending.missing >> *member & 1) == 0) continue;
    const bool late = now - pending.began > fec_params::kPendingFor;
    if (late || symbol_bytes(datagram.size()) > pending.symbol_bytes) {
      end(pending);
      continue;
    }
    for (uint32_t i = 0; i < pending.row_count; ++i) {
      add_symbol(sum(pending, i), coefficient(pending.rows[i], *member), datagram);
    }
    pending.missing &= ~(1u << *member);
    try_solve(pending);
  }
}

void Rebuilder::try_solve(Pending& pending) {
  if (static_cast<uint32_t>(std::popcount(pending.missing)) > pending.row_count) return;
  std::array<uint32_t, kMostFecParity> members{};
  size_t count = 0;
  for (uint32_t left = pending.missing; left != 0; left &= left - 1) {
    members[count++] = static_cast<uint32_t>(std::countr_zero(left));
  }
  solve(pending, std::span(members).first(count));
  end(pending);
}

// Gauss and Jordan: afterwards sum i is the symbol of members[i]. Every square part of the matrix
// of coefficients has an inverse, and so has what elimination leaves: no diagonal element is 0.
void Rebuilder::solve(Pending& pending, std::span<const uint32_t> members) {
  const size_t count = members.size();
  std::array<std::array<uint8_t, kMostFecParity>, kMostFecParity> matrix{};
  for (size_t r = 0; r < count; ++r) {
    for (size_t c = 0; c < count; ++c) matrix[r][c] = coefficient(pending.rows[r], members[c]);
  }
  for (uint32_t pivot = 0; pivot < count; ++pivot) {
    const uint8_t inverse = field_inverse(matrix[pivot][pivot]);
    for (size_t c = 0; c < count; ++c) matrix[pivot][c] = field_product(matrix[pivot][c], inverse);
    if (inverse != 1) scale(sum(pending, pivot), inverse);
    for (uint32_t r = 0; r < count; ++r) {
      const uint8_t factor = matrix[r][pivot];
      if (r == pivot || factor == 0) continue;
      for (size_t c = 0; c < count; ++c) {
        matrix[r][c] ^= field_product(matrix[pivot][c], factor);
      }
      add_scaled(sum(pending, r), sum(pending, pivot), factor);
    }
  }
  for (uint32_t i = 0; i < count; ++i) emit(pending, members[i], sum(pending, i));
}

void Rebuilder::emit(const Pending& pending, uint32_t member, std::span<const std::byte> symbol) {
  if (rebuilt_count_ == rebuilt_.size()) return;
  const std::span<std::byte> to(frames_.get() + rebuilt_count_ * most_bytes_, most_bytes_);
  const size_t bytes = read_symbol(symbol, pending.list.at(member), to);
  if (bytes == 0) return;
  RxRun& run = rebuilt_[rebuilt_count_++];
  run = {};
  run.from = pending.origin.from;
  run.received_at = pending.origin.received_at;
  run.nic = pending.origin.nic;
  run.segments = 1;
  run.segment_bytes = run.last_segment_bytes = static_cast<uint32_t>(bytes);
  run.frame = to.data();
  kept_.keep(*transport::identify_packet(to.first(bytes)), to.first(bytes));
  ++rebuilt_total_;
}

bool Rebuilder::take(RxRun& run) {
  if (!any()) return false;
  run = rebuilt_[taken_++];
  return true;
}

void Rebuilder::release() {
  // Frames begin at the front again when all were taken: until then few are left, and new ones go
  // behind them.
  if (taken_ < rebuilt_count_) return;
  taken_ = rebuilt_count_ = 0;
}

}  // namespace heddle::datapath
