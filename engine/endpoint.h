// Endpoint: a process's attachment to a network, which several threads may use. Applications,
// collectives and plugins use this interface over any datapath. Posting never blocks. Waiting calls
// drive the endpoint (inline), wait for its thread, or return at once where the owner drives
// (Drive::kExternal). In a child of fork() every call returns at once with kClosed or an empty
// result: the endpoint belongs to the parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/own_process.h"
#include "base/result.h"
#include "datapath/datapath.h"
#include "engine/connection_table.h"
#include "engine/driver.h"
#include "engine/memory.h"
#include "engine/operation_table.h"
#include "engine/options.h"
#include "engine/poll_source.h"
#include "events/events.h"
#include "transport/address.h"
#include "transport/fabric_routes.h"
#include "transport/statistics.h"

namespace heddle::engine {

using Channel = transport::ChannelId;
using transport::ConnectionOptions;
using transport::Direction;

class Endpoint {
 public:
  // Creates an endpoint over an open datapath. Errors: kExhausted (no memory for eager messages, no
  // thread), those of the datapath.
  static Result<std::unique_ptr<Endpoint>> create(std::shared_ptr<datapath::Datapath> datapath,
                                                  const Options& options) {
    return create(std::vector{std::move(datapath)}, options);
  }
  // The same with an engine for each of datapaths that share a port (datapath/engines.h), each
  // driven by a thread of its own. Also kInvalid (Drive::kExternal with several).
  static Result<std::unique_ptr<Endpoint>> create(
      const std::vector<std::shared_ptr<datapath::Datapath>>& datapaths, const Options& options);
  // Opens an endpoint over UDP or AF_XDP. Errors: kInUse (port, interface), kPermission, kInvalid
  // (address, MTU), kUnavailable (unknown name), kSystem; their text is fit for users.
  static Result<std::unique_ptr<Endpoint>> open(const NetworkOptions& network,
                                                const Options& options);
  // Aborts all open connections and notifies their peers.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // --- connections; the user releases each one by close() or abort() ---

  // Starts a connection; messages may be posted at once. Errors: kInvalid (paths, unknown
  // congestion control or selector), kExhausted, kClosed (after fork()).
  Result<Connection> connect(const transport::Address& peer, const ConnectionOptions& options = {});
  // The same for "host", "host:port" or "[v6]:port"; `default_port` applies where the name has
  // none. Also kInvalid and kUnavailable for an unknown name. May block on name resolution.
  Result<Connection> connect(const std::string& name, uint16_t default_port,
                             const ConnectionOptions& options = {});
  // Waits until it is open. Errors: kTimeout (it may still open), or the cause of its close.
  Result<void> wait_open(Connection connection, Nanos timeout);
  // Takes the oldest connection in the accept queue; empty if none arrives within `timeout`.
  std::optional<Connection> accept(Nanos timeout);
  // The same without waiting and without a turn, for loops around progress().
  std::optional<Connection> take_accepted();
  // Returns state kClosed with error kInvalid for a connection that is unknown or released.
  ConnectionStatus status(Connection connection) const;
  // Closes once every posted send has been delivered, and releases the connection. Errors: kTimeout
  // (the connection is then aborted), or the cause of an earlier close.
  Result<void> close(Connection connection, Nanos timeout);
  // Closes without waiting: status() reports the progress; abort() or close() releases it.
  void begin_close(Connection connection);
  // Closes at once and releases it; operations on both sides end with kClosed.
  void abort(Connection connection);

  // Restricts which paths of an open connection may carry payload (path_statistics() numbers them);
  // empty lifts the restriction. If none of `paths` works, payload uses the others. Errors:
  // kInvalid (no such path), kClosed (not open).
  Result<void> fix_paths(Connection connection, std::span<const uint16_t> paths);

  // Starts discovery of the routes between the hosts of an open connection. It takes about 20 ms
  // per router, and minutes where routers limit their replies. Errors: kClosed (not open).
  Result<void> find_routes(Connection connection);
  // The result of find_routes(), or its progress; empty if it was not called.
  std::optional<transport::FabricRoutes> routes(Connection connection) const;

  // Sets the cluster keys of future connections; open ones keep theirs. Errors: kInvalid if `keys`
  // is empty or the endpoint was created without keys.
  Result<void> set_keys(std::span<const transport::ClusterKey> keys);

  // --- memory ---

  // Registers [start, start + bytes), which must outlive the handle. Errors: those of the datapath.
  Result<Memory> register_memory(void* start, size_t bytes) {
    return register_memory(datapath::DeviceMemory{.mapping = start}, bytes);
  }
  // The same for memory of a device, which the NIC reads and writes itself. Errors: likewise;
  // kUnavailable where the datapath, the NIC or the kernel cannot.
  Result<Memory> register_memory(const datapath::DeviceMemory& memory, size_t bytes);

  // --- messages: 0 bytes to 1 GiB; the n-th send of a channel meets its n-th receive ---

  // Posts a message; the payload must stay unchanged until the operation is done. Errors: kInvalid,
  // kClosed, kExhausted.
  Result<Operation> send(Connection connection, Channel channel, const transport::Payload& payload,
                         transport::AckPolicy ack_policy = transport::AckPolicy::kPrompt);
  Result<Operation> receive(Connection connection, Channel channel,
                            const transport::Payload& buffer,
                            transport::Fill fill = transport::Fill::kAtOnce);
  // The same for unregistered memory, which is registered for the duration of the operation.
  Result<Operation> send(Connection connection, Channel channel, const void* start, size_t bytes);
  Result<Operation> receive(Connection connection, Channel channel, void* start, size_t bytes);
  // Messages posted during the lifetime of a Batch leave when it ends, in fewer packets, unless
  // another thread drives meanwhile. Use it for consecutive posts only: posts of other threads wait
  // as well.
  class Batch {
   public:
    explicit Batch(Endpoint& endpoint);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    Endpoint& endpoint_;
  };
  // Returns the outcome if it is done; otherwise, inline, runs a turn first.
  Outcome test(Operation operation);
  // The same without a turn, for loops over many operations around progress().
  Outcome peek(Operation operation);
  // Waits until it is done. If the outcome is not done, `timeout` passed and the operation
  // continues.
  Outcome wait(Operation operation, Nanos timeout);
  // Cancels the operation if that is still possible; its end must still be awaited.
  void cancel(Operation operation);
  // For a receive posted with Fill::kOnArrival: no other code uses its memory any more, so it may
  // be filled at once.
  void fill_at_once(Operation receive);
  // Discards the outcome: the operation's entry is freed when it ends.
  void forget(Operation operation);

  // --- driving ---

  // Drives (inline) or sleeps until an operation ended, a connection changed, interrupt() was
  // called or `timeout` passed; returns at once if one of these happened since its last return.
  // False: nothing happened. For loops over many operations (peek at all, then progress()), from
  // one thread at a time.
  bool progress(Nanos timeout);
  // Ends a progress() of another thread, or the next one. Not async-signal-safe.
  void interrupt();
  // True if an event that ends progress() happened since the last take_changes() or progress();
  // returns at once. Until it returns true, operations and connections have not changed.
  bool take_changes();
  // One turn, for Drive::kExternal: returns the time of the next one.
  Nanos turn();
  // The helper thread's check, for Drive::kExternal: runs turns if the owner has been away for
  // takeover_after, and returns the time of the next check.
  Nanos helper_turn();

  // --- observability; any thread may call these ---

  // The event kinds that the sink or the recording keeps; observe() ignores all others.
  events::KindSet observed() const;
  // Emits an event of a layer above to this endpoint's sink and recording, and sets its time.
  template <typename Event>
  void observe(Event event) {
    if (!observed().has(Event::kKind)) return;
    const SinkAccess access = lock_sink();
    if (access.sink == nullptr) return;
    event.time = access.now;
    access.sink->on(event);
  }

  // --- poll sources besides the network ---

  // Sets the second poll source; null removes it. It must stay valid until it is replaced. An
  // endpoint has at most one.
  void set_poll_source(PollSource* poll_source);
  // An eventfd that wakes the sleeping driver; -1 where the network has none.
  int wake_descriptor() const;

  // --- state and statistics ---

  Nanos now() const;
  // The payload of a full burst to a peer with this host's MTU: a message that is a multiple of it
  // needs no short burst. 0 where the network sends segments one at a time or places chunks.
  uint32_t burst_payload_bytes() const;
  transport::Address local_address() const;            // with several NICs, the first one's
  std::vector<transport::Address> local_nics() const;  // one per NIC
  const datapath::Capabilities& capabilities() const;
  // The source port that ECMP hashes on for packets of this connection, path and NIC (the latter
  // from path_statistics()); 0 where the network has no such field.
  uint16_t source_port(Connection connection, uint16_t path, uint8_t nic) const;
  transport::Statistics statistics() const;
  std::optional<transport::ConnectionStatistics> statistics(Connection connection) const;
  std::vector<transport::PathStatistics> path_statistics(Connection connection) const;
  datapath::DatapathStatistics datapath_statistics() const;
  DriverStatistics driver_statistics() const;
  // Bytes held by the transport, without memory for eager messages.
  size_t bytes_held() const;

 private:
  class Body;
  class Engines;
  Endpoint(std::shared_ptr<Body> body, std::shared_ptr<datapath::Datapath> network);
  Result<Operation> post_unregistered(OperationPlace place, void* start, size_t bytes);
  // While it exists, no other thread emits events to the sink.
  struct SinkAccess {
    OwnMutex::Lock lock;
    events::Sink* sink = nullptr;  // null: this process is a child of fork() and emits nothing
    Nanos now;
  };
  SinkAccess lock_sink();

  // The outcome of operations in a child of fork().
  static constexpr Outcome kForkedOutcome = {
      .done = true, .ok = false, .error = ErrorCode::kClosed};

  const OwnProcess<Body> body_;  // all mutable state, and its locks
  // Immutable state, which a child may read as well, and the clock.
  const std::shared_ptr<datapath::Datapath> network_;
  const events::KindSet observed_;
  const uint32_t burst_payload_bytes_;
};

}  // namespace heddle::engine
