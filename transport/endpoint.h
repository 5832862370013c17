// Endpoint: a process's attachment to a network, as a state machine without I/O. It owns its
// connections. post_* takes requests, handle_* takes input, poll_* returns output; time is an
// argument and never goes backwards. After any post_* or handle_* call and before the next input,
// the driver:
//   1. makes every copy of placements(), then calls clear_placements();
//   2. forwards requests to the NIC (poll_nic_request), and only then takes notices and completions
//   (poll_notice, poll_completion), until there are none;
//   3. sends the batches of poll_transmit until it returns none;
//   4. calls handle_timeout no earlier than poll_timeout().
// It is not thread-safe; engine/ adds ownership. It allocates nothing in the steady state.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/nanos.h"
#include "base/result.h"
#include "base/seed.h"
#include "transport/address.h"
#include "transport/fabric_routes.h"
#include "transport/options.h"
#include "transport/packet_key.h"
#include "transport/path/selector.h"
#include "transport/payload.h"
#include "transport/placed.h"
#include "transport/rx_run.h"
#include "transport/statistics.h"
#include "transport/tx_batch.h"

namespace heddle::events {
class Sink;
}

namespace heddle::transport {

class HeaderTags;

using ConnectionId = uint32_t;  // chosen by this side; never 0, not reused soon
using ChannelId = uint16_t;
using OperationId = uint64_t;  // chosen by the caller; comes back in its completion

enum class Direction : uint8_t { kSend, kReceive };

// An operation ended. Every posted operation ends exactly once. Receives of one channel end in the
// order in which they were posted, sends as well.
struct Completion {
  OperationId operation = 0;
  ConnectionId connection = 0;
  ChannelId channel = 0;
  Direction direction = Direction::kSend;
  bool ok = false;
  ErrorCode error = ErrorCode::kSystem;  // where not ok
  uint64_t bytes = 0;                    // of the message
  uint32_t sequence = 0;                 // its place in the channel's order
  Nanos posted_at;
};

enum class NoticeKind : uint8_t { kAccepted, kOpened, kClosed };

// A connection changed its state. kAccepted: a peer connected to us; kOpened: our post_connect
// succeeded; kClosed: it is gone, whatever the cause, and its id means nothing any more.
struct Notice {
  NoticeKind kind = NoticeKind::kOpened;
  ConnectionId connection = 0;
  Address peer;
  Error error;  // kClosed: the cause; code kClosed for a graceful close by either side
  bool graceful = false;
  ConnectionId peer_connection = 0;  // what the peer calls it; 0: unknown
};

// A channel of one of the endpoint's connections.
struct ChannelRef {
  ConnectionId connection = 0;
  ChannelId channel = 0;
};

class Endpoint {
 public:
  // `seed` feeds every random choice (connection ids, nonces, tokens, path choice): equal seeds,
  // equal behaviour. `sink` may be null; it must outlive the endpoint.
  Endpoint(const EndpointOptions& options, const Seed& seed, events::Sink* sink);
  ~Endpoint();
  Endpoint(Endpoint&&) noexcept;

  // --- requests ---
  // Begins a handshake. Errors: kInvalid (paths, unknown congestion or selector), kExhausted.
  Result<ConnectionId> post_connect(Nanos now, const Address& peer,
                                    const ConnectionOptions& options);
  // Posts a message of 0 bytes to 1 GiB; its payload stays untouched until the completion. May be
  // called before the connection is open. Errors: kInvalid, kClosed, kExhausted (max_posted: poll
  // first; messages withdrawn before the peer posted their receives count until it has).
  Result<void> post_send(Nanos now, ChannelRef channel, const Payload& payload,
                         OperationId operation, AckPolicy ack_policy = AckPolicy::kPrompt);
  // Posts a buffer for the next message of the channel. Errors as post_send; over all channels,
  // receives withdrawn before the peer posted their messages count until it has, but for receives
  // whose message is known of.
  Result<void> post_receive(Nanos now, ChannelRef channel, const Payload& buffer,
                            OperationId operation, Fill fill = Fill::kAtOnce);
  // Withdraws an operation: it then ends with kCancelled, as does the one it would have met on the
  // other side, unless it is too late; then it ends as it would have. False: no such operation.
  bool post_cancel(Nanos now, ConnectionId connection, ChannelId channel, Direction direction,
                   OperationId operation);
  // Allows a receive that was posted with Fill::kOnArrival to be filled at any time: no other code
  // uses its memory any more.
  void fill_at_once(ConnectionId connection, ChannelId channel, OperationId receive);
  // Fixes which of an open connection's paths may carry payload; empty: all. The others are still
  // probed and carry acknowledgements, and payload while no fixed path works (recovery steps
  // choice_failed and choice_returned). Errors: kInvalid (no such path), kClosed (not open).
  Result<void> post_paths(Nanos now, ConnectionId connection, std::span<const uint16_t> paths);
  // Fixes payload to these paths, which the selector `plan` gives their shares. Errors: likewise.
  Result<void> post_plan(Nanos now, ConnectionId connection, std::span<const PlannedShare> shares);
  // Starts discovery of the routes between the hosts of an open connection, by packets whose hop
  // limit ends at a router; routes() returns the result. Errors: kClosed (not open).
  Result<void> post_discovery(Nanos now, ConnectionId connection);
  // Closes once every posted send is acknowledged; receives that are still posted end with kClosed.
  void post_close(Nanos now, ConnectionId connection);
  // Closes at once; whatever is posted ends with kClosed, on the peer as well.
  void post_abort(Nanos now, ConnectionId connection);
  // How peers' NICs name this region of ours; from then on receives into it may be written
  // remotely.
  void set_token(RegionId region, const MemoryToken& token);
  // Cluster keys for connections to come; those that are open keep theirs. CHECKs that there are
  // some, and that there were when the endpoint was made.
  void set_keys(std::span<const ClusterKey> keys);
  // The share of the receive capacity may change as the caller learns of it (a larger socket
  // buffer).
  void set_receive_capacity(Nanos now, Bytes capacity);

  // --- input ---
  // With cluster keys, PacketDecryptor (packet_decryptor.h) calls this: encrypted segments are
  // accepted from decrypted runs only.
  void handle_run(Nanos now, const RxRun& run);
  // True if the endpoint has cluster keys.
  bool keyed() const;
  // With keys: what they do for its connections.
  Protection protection() const;
  // Whether payload is encrypted, so that it must be opened before it can be placed.
  bool payload_is_encrypted() const { return keyed() && protection() == Protection::kFull; }
  // What checks a row of data headers that goes on from this one, for PacketDecryptor; `tags` null:
  // it is dropped, and counted, unless part of it was here before: then each is to be claimed
  // `apart`.
  struct BurstClaim {
    HeaderTags* tags = nullptr;
    bool apart = false;
  };
  BurstClaim claim_burst(Nanos now, const Address& from, std::span<const std::byte> header,
                         uint32_t segments);
  // The receive key for the connection and epoch in this packet's header, for PacketDecryptor;
  // null: the packet is a counted drop. note_decrypted() then reports whether decryption succeeded.
  PacketKey* receive_key(Nanos now, const Address& from, std::span<const std::byte> packet);
  void note_decrypted(Nanos now, std::span<const std::byte> header, bool ok);
  // An event of a NIC of the placed-chunk shape.
  void handle_nic_event(Nanos now, const NicEvent& event);
  void handle_network_error(Nanos now, const NetworkError& error);
  void handle_timeout(Nanos now);

  // --- output ---
  // Fills `batch` (cleared by the caller) with what may leave now; false when nothing was added.
  bool poll_transmit(Nanos now, TxBatch& batch);
  // When handle_timeout or poll_transmit (pacing) next has something to do; never() if nothing is
  // due.
  Nanos poll_timeout() const;
  // The next request for the datapath, to be carried out before completions are taken; false: none.
  bool poll_nic_request(NicRequest& request);
  bool poll_completion(Completion& completion);
  bool poll_notice(Notice& notice);
  std::span<const Placement> placements() const;
  void clear_placements();
  // Where the next received payload probably belongs; false: no guess. Valid until the next call.
  bool predict(Prediction& prediction) const;

  // --- what it knows ---
  const Statistics& statistics() const;
  // Null for an id that is not (any more) a connection.
  const ConnectionStatistics* statistics(ConnectionId connection) const;
  // What packets to this side call the connection, for who reads captured packets; 0 for such an
  // id.
  uint64_t wire_id(ConnectionId connection) const;
  // Empty for such an id.
  std::vector<PathStatistics> path_statistics(ConnectionId connection) const;
  // The result of post_discovery(), or its progress; false: it was not called.
  bool routes(ConnectionId connection, FabricRoutes& found) const;
  uint32_t connections() const;
  // Bytes of memory held for everything, pools included; for the bounds and their tests.
  size_t bytes_held() const;
  // Records that are lent from the pools: of operations, of what is in flight, of gaps in what
  // arrived, of early messages.
  // None when no connection is left.
  uint32_t records_lent() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::transport
