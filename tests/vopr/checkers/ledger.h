// Ledger: every connection and every operation of a run, as the programs on both sides saw them. It
// finds completions that were never asked for, come twice, or come out of order; what may come of
// an operation is judged by outcomes.h, what its bytes are by simulator::MemoryCheck.
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
  uint32_t index = 0;          // the how manieth of its channel and direction
  transport::Payload payload;  // its length: of the message, or what the buffer takes
  uint64_t pattern = 0;        // of a send's bytes
  Nanos posted_at;
  bool cancelled = false;  // its program withdrew it
  bool done = false;
  bool ok = false;
  ErrorCode error = ErrorCode::kSystem;
  uint64_t bytes = 0;

  uint64_t length() const { return payload.length; }
};

// One channel and direction of a side, in posted order.
struct Lane {
  std::vector<Operation*> operations;
  size_t done = 0;

  size_t outstanding() const { return operations.size() - done; }
};

// A connection as one of its programs knows it.
struct Side {
  uint32_t name = 0;  // unique in a run
  uint32_t host = 0;
  uint32_t incarnation = 0;
  uint32_t peer_host = 0;
  transport::ConnectionId id = 0;
  transport::ConnectionId peer_id = 0;  // 0: not known yet
  transport::WireId wire_id = 0;        // what packets to it call the connection
  bool initiator = false;
  bool open = false;
  bool over = false;  // its closed notice came
  bool graceful = false;
  bool crashed = false;  // with its process
  bool close_called = false;
  bool abort_called = false;
  Error error;              // where over
  std::vector<Lane> sends;  // by channel
  std::vector<Lane> receives;

  Lane& lane(transport::Direction direction, transport::ChannelId channel);
  size_t outstanding(transport::Direction direction) const;
  // Ended by a cancel, by either side.
  size_t withdrawn(transport::Direction direction) const;
  bool ended() const { return over || crashed; }
};

class Ledger {
 public:
  // Who speaks from kByzantinePort goes by this number.
  Ledger(Report& report, uint32_t byzantine) : report_(report), byzantine_(byzantine) {}

  // --- what programs did and were told ---
  Side& on_connect(uint32_t host, uint32_t incarnation, uint32_t peer_host,
                   transport::ConnectionId id);
  // Null, and reported, where the notice makes no sense.
  Side* on_notice(uint32_t host, uint32_t incarnation, const transport::Notice& notice);
  // The id that the next operation posted will have.
  transport::OperationId next_id() const { return operations_.size() + 1; }
  Operation& on_post(Side& side, transport::Direction direction, transport::ChannelId channel,
                     const transport::Payload& payload, Nanos now);
  // Null, and reported, where it ends nothing that is posted.
  Operation* on_completion(uint32_t host, uint32_t incarnation,
                           const transport::Completion& completion);
  void on_crash(uint32_t host, uint32_t incarnation);

  // --- what is known ---
  // Its peer keeps to no rule.
  bool is_with_byzantine(const Side& side) const { return side.peer_host == byzantine_; }
  const std::vector<std::unique_ptr<Side>>& sides() const { return sides_; }
  const std::vector<std::unique_ptr<Operation>>& operations() const { return operations_; }
  // The other end of the connection; null where there is none (yet).
  Side* peer_of(const Side& side) const;
  // Of an initiator that is not open yet: the connection that its handshake made at the peer; null
  // where there was none.
  Side* accepted_by_peer_of(const Side& side) const;
  // The operation that this one meets; null where it is not posted (yet).
  Operation* match_of(const Operation& operation) const;
  // What the `index`th operation of this side would meet.
  Operation* match_of(const Side& side, transport::Direction direction,
                      transport::ChannelId channel, size_t index) const;
  // Whether the program of `side` may learn of an end that this caused: a close, an abort, a death.
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
  // The latest incarnation's, by host and id: where a peer's notice looks.
  std::map<std::pair<uint32_t, transport::ConnectionId>, std::vector<Side*>> by_peer_;
};

// "side 3 (host 0, connection 65536) send 4 of channel 1".
std::string describe(const Side& side);
std::string describe(const Operation& operation);

}  // namespace heddle::vopr
