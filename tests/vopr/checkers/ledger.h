// Ledger: records every connection and operation of a run, as the programs on both sides observe
// them. It detects completions of unknown operations, duplicates and wrong order. outcomes.h judges
// the results of operations, simulator::MemoryCheck their bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "tests/vopr/checkers/report.h"
#include "transport/endpoint.h"
#include "transport/wire/numbers.h"

namespace heddle::vopr {

struct Side;

struct Operation {
  transport::OperationId id = 0;
  Side* side = nullptr;
  transport::Direction direction = transport::Direction::kSend;
  transport::ChannelId channel = 0;
  uint32_t index = 0;          // number in its channel and direction
  transport::Payload payload;  // its length is that of the message, or the buffer's capacity
  uint64_t pattern = 0;        // of the bytes of a send
  Nanos posted_at;
  bool cancelled = false;  // by its own program
  bool done = false;
  bool ok = false;
  ErrorCode error = ErrorCode::kSystem;
  uint64_t bytes = 0;

  uint64_t length() const { return payload.length; }
};

// The operations of one channel and direction of a side, in posted order.
struct PostedOperations {
  std::vector<Operation*> operations;
  size_t done = 0;

  size_t outstanding() const { return operations.size() - done; }
};

// One side's view of a connection.
struct Side {
  uint32_t name = 0;  // unique in a run
  uint32_t host = 0;
  uint32_t incarnation = 0;
  uint32_t peer_host = 0;
  transport::ConnectionId id = 0;
  transport::ConnectionId peer_id = 0;  // 0: not yet known
  transport::WireId wire_id = 0;        // the connection's id in packets to this side
  bool initiator = false;
  bool open = false;
  bool over = false;  // its closed notice was received
  bool graceful = false;
  bool crashed = false;  // ended with its process
  bool close_called = false;
  bool abort_called = false;
  Error error;                          // valid if `over`
  std::vector<PostedOperations> sends;  // by channel, as are `receives`
  std::vector<PostedOperations> receives;

  PostedOperations& posted(transport::Direction direction, transport::ChannelId channel);
  size_t outstanding(transport::Direction direction) const;
  // The number of operations that either side cancelled.
  size_t withdrawn(transport::Direction direction) const;
  bool ended() const { return over || crashed; }
};

class Ledger {
 public:
  // `byzantine`: the number of the peer at kByzantinePort.
  Ledger(Report& report, uint32_t byzantine) : report_(report), byzantine_(byzantine) {}

  // --- events of programs ---
  Side& on_connect(uint32_t host, uint32_t incarnation, uint32_t peer_host,
                   transport::ConnectionId id);
  // Returns null, after reporting it, for an invalid notice.
  Side* on_notice(uint32_t host, uint32_t incarnation, const transport::Notice& notice);
  // The id of the next posted operation.
  transport::OperationId next_id() const { return operations_.size() + 1; }
  Operation& on_post(Side& side, transport::Direction direction, transport::ChannelId channel,
                     const transport::Payload& payload, Nanos now);
  // Returns null, after reporting it, if the completion matches no posted operation.
  Operation* on_completion(uint32_t host, uint32_t incarnation,
                           const transport::Completion& completion);
  void on_crash(uint32_t host, uint32_t incarnation);

  // --- queries ---
  // True if its peer is the byzantine one.
  bool is_with_byzantine(const Side& side) const { return side.peer_host == byzantine_; }
  const std::vector<std::unique_ptr<Side>>& sides() const { return sides_; }
  const std::vector<std::unique_ptr<Operation>>& operations() const { return operations_; }
  // The other end of the connection; null if there is none (yet).
  Side* peer_of(const Side& side) const;
  // For an initiator that is not open yet: the connection that its handshake created at the peer;
  // null if there is none.
  Side* accepted_by_peer_of(const Side& side) const;
  // The operation that matches this one; null if it is not posted (yet).
  Operation* match_of(const Operation& operation) const;
  // The operation that would match the `index`th operation of this side.
  Operation* match_of(const Side& side, transport::Direction direction,
                      transport::ChannelId channel, size_t index) const;
  // Whether the peer's close, abort or crash may end this side's connection.
  bool peer_is_gone(const Side& side) const;

 private:
  using Key = std::tuple<uint32_t, uint32_t, transport::ConnectionId>;  // host, incarnation, id

  Side& add(uint32_t host, uint32_t incarnation, uint32_t peer_host, transport::ConnectionId id);
  Side* find(uint32_t host, uint32_t incarnation, transport::ConnectionId id) const;

  Report& report_;
  uint32_t byzantine_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::map<Key, Side*> by_id_;
  // Connections of the latest incarnation by host and id, to match a peer's notice.
  std::map<std::pair<uint32_t, transport::ConnectionId>, std::vector<Side*>> by_peer_;
};

// "side 3 (host 0, connection 65536) send 4 of channel 1".
std::string describe(const Side& side);
std::string describe(const Operation& operation);

}  // namespace heddle::vopr
