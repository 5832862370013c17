// Rebuilder: rebuilds lost datagrams from parity. It keeps the latest numbered datagrams and the
// groups that lack some; all its memory is there from the start, so no packet makes it grow. Driven
// by FecDatapath. What it rebuilds is as trustworthy as any datagram from the network: the
// transport opens and checks it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "datapath/fec.h"
#include "datapath/fec/parity_packet.h"
#include "datapath/fec/remembered_packets.h"
#include "transport/packet_identity.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

class Rebuilder {
 public:
  // `most_bytes`: of a datagram; longer ones are not kept, nor rebuilt.
  explicit Rebuilder(size_t most_bytes);

  // A numbered datagram has arrived.
  void remember(Nanos now, const transport::PacketIdentity& packet,
                std::span<const std::byte> datagram);
  // Parity has arrived, with `origin`.
  void handle(Nanos now, const Parity& parity, const transport::RxRun& origin);

  // The next rebuilt datagram as a run of one, which may be written to until release(); false:
  // there is none.
  bool take(transport::RxRun& run);
  bool any() const { return taken_ < rebuilt_count_; }
  // All that was taken is done with.
  void release();

  uint64_t rebuilt() const { return rebuilt_total_; }

 private:
  // A group of which datagrams are missing. What has arrived is subtracted from its rows.
  struct Pending {
    bool live = false;
    uint16_t group = 0;
    MemberList list;
    transport::RxRun origin;
    Nanos began;
    uint32_t missing = 0;  // a bit a member
    size_t symbol_bytes = 0;
    uint32_t row_count = 0;
    std::array<uint8_t, kMostFecParity> rows{};
    std::unique_ptr<std::byte[]> sums;

    // Whether a member has arrived.
    bool known() const { return std::popcount(missing) < int{list.members}; }
  };

  Pending* find_pending(Nanos now, const Parity& parity);
  Pending* open(Nanos now, const Parity& parity, const transport::RxRun& origin, uint32_t missing);
  Pending* place_for(bool known);
  void add_row(Pending& pending, const Parity& parity, const RememberedPackets::Found& found);
  void subtract(Nanos now, const transport::PacketIdentity& packet,
                std::span<const std::byte> datagram);
  void try_solve(Pending& pending);
  void solve(Pending& pending, std::span<const uint32_t> members);
  void emit(const Pending& pending, uint32_t member, std::span<const std::byte> symbol);
  void end(Pending& pending);
  std::span<std::byte> sum(const Pending& pending, uint32_t row) const {
    return {pending.sums.get() + row * most_symbol_, pending.symbol_bytes};
  }

  const size_t most_bytes_;
  const size_t most_symbol_;
  RememberedPackets kept_;
  std::vector<Pending> pending_;  // the last one: for a group that its first row solves
  uint32_t live_ = 0;             // of pending_
  std::unique_ptr<std::byte[]> frames_;
  std::array<transport::RxRun, fec_params::kMostRebuilt> rebuilt_;
  size_t rebuilt_count_ = 0;
  size_t taken_ = 0;
  uint64_t rebuilt_total_ = 0;
};

}  // namespace heddle::datapath
