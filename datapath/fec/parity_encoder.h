// ParityEncoder: the groups of numbered datagrams that leave, one a connection, and their parity.
// It keeps the sums only, no datagrams. Driven by FecDatapath, to which it hands
// finished parity as bursts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "datapath/fec.h"
#include "datapath/fec/parity_packet.h"
#include "transport/packet_identity.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

class ParityEncoder {
 public:
  // Takes a burst of all rows of a group, which is valid during the call.
  using Send = std::function<void(const transport::TxBurst&)>;

  // `most_bytes`: of a datagram that is added; `most_parity`: of one of parity.
  ParityEncoder(const FecOptions& options, size_t most_bytes, size_t most_parity, Send send);

  // A datagram has left, as part of `burst`: both parts together; the first has the connection
  // header. A group that it completes is sent. It is not covered where its parity would be too
  // long, nor while all groups are open and none is due.
  void add(Nanos now, const transport::TxBurst& burst, const transport::PacketIdentity& packet,
           std::span<const std::byte> first, std::span<const std::byte> second);
  // Sends groups to which nothing more comes soon.
  void send_due(Nanos now);
  // When send_due() has something to do; never() if no group is open.
  Nanos due_at() const;

 private:
  struct Group {
    bool open = false;
    transport::TxBurst way;  // to where; nothing else of it is used
    MemberList list;
    size_t symbol_bytes = 0;  // the longest member's
    Nanos began;
    Nanos added;
    std::unique_ptr<std::byte[]> rows;

    Nanos due_at() const { return std::min(began + fec_params::kAge, added + fec_params::kIdle); }
  };

  Group* group_of(Nanos now, const transport::TxBurst& burst,
                  const transport::PacketIdentity& packet, size_t bytes);
  Group* free_group(Nanos now);
  bool take_name(Group& group, const transport::PacketIdentity& packet, size_t bytes) const;
  std::span<std::byte> row(Group& group, uint32_t number) const {
    return {group.rows.get() + number * most_symbol_, most_symbol_};
  }
  void finish(Group& group);

  const FecOptions options_;
  const size_t most_symbol_;
  const size_t most_parity_;
  const Send send_;
  std::vector<Group> groups_;  // as many as were open at once; pointers to them stay valid
  std::unique_ptr<std::byte[]> datagrams_;  // of the group that is being sent
  uint16_t next_group_ = 0;
};

}  // namespace heddle::datapath
