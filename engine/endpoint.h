// Endpoint: a process's attachment to a network, alive: it is driven, waits, and may be used by
// several threads. This is the face that applications, collectives and plugins use; it holds over
// any datapath. Posting never blocks. Waiting calls drive the endpoint (inline), wait for its
// thread, or, where the owner drives (Drive::kExternal), answer at once. In a child of fork() every
// call answers at once with kClosed or nothing: the endpoint is the parent's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/own_process.h"
#include "base/result.h"
#include "datapath/datapath.h"
#include "engine/companion.h"
#include "engine/connection_table.h"
#include "engine/driver.h"
#include "engine/memory.h"
#include "engine/operation_table.h"
#include "engine/options.h"
#include "events/events.h"
#include "transport/address.h"
#include "transport/fabric_ways.h"
#include "transport/statistics.h"

namespace heddle::engine {

using Channel = transport::ChannelId;
using transport::ConnectionOptions;
using transport::Direction;

class Endpoint {
 public:
  // Over a datapath that is ready. Errors: kExhausted (no memory for early messages, no thread),
  // those of the datapath.
  static Result<std::unique_ptr<Endpoint>> create(std::shared_ptr<datapath::Datapath> datapath,
                                                  const Options& options);
  // Over UDP. Errors: kInUse (port), kPermission, kInvalid (address, MTU), kUnavailable (no such
  // name), kSystem; their text can be shown to a user.
  static Result<std::unique_ptr<Endpoint>> open(const NetworkOptions& network,
                                                const Options& options);
  // Aborts what is still connected; peers are told.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // --- connections; each that one is given must be given back by close() or abort() ---

  // Begins to connect. Messages may be posted at once. Errors: kInvalid (paths, unknown congestion
  // control or selector), kExhausted, kClosed (after fork()).
  Result<Connection> connect(const transport::Address& peer, const ConnectionOptions& options = {});
  // The same to "host", "host:port" or "[v6]:port"; `default_port` where the name has none. Also
  // kInvalid and kUnavailable for a name that is not known. May block on the name service.
  Result<Connection> connect(const std::string& name, uint16_t default_port,
                             const ConnectionOptions& options = {});
  // Waits until it is open. Errors: kTimeout (it may still open), or why it closed.
  Result<void> wait_open(Connection connection, Nanos timeout);
  // The oldest connection of a peer that was not taken yet; nothing when there is none in time.
  std::optional<Connection> accept(Nanos timeout);
  // The same without waiting or a turn, for loops around progress().
  std::optional<Connection> take_accepted();
  // kClosed with code kInvalid for a connection that is unknown or given back.
  ConnectionStatus status(Connection connection) const;
  // Closes once every posted send has arrived, and gives it back. Errors: kTimeout (it is then
  // aborted), or why it had closed before.
  Result<void> close(Connection connection, Nanos timeout);
  // Closes without waiting: status() tells how it goes; abort() or close() gives it back.
  void begin_close(Connection connection);
  // Closes at once and gives it back; operations end with kClosed, the peer's as well.
  void abort(Connection connection);

  // Fixes which paths of an open connection may carry payload (path_statistics() numbers them);
  // empty: all of them. While none of these works, payload takes the others. Errors: kInvalid (no
  // such path), kClosed (not open).
  Result<void> fix_paths(Connection connection, std::span<const uint16_t> paths);

  // Looks how many ways the fabric has between the hosts of an open connection; takes from some
  // 20 ms a router on the way up to minutes where routers answer seldom. Errors: kClosed (not
  // open).
  Result<void> find_ways(Connection connection);
  // What find_ways() found, or that it is under way; nothing where it was not called.
  std::optional<transport::FabricWays> ways(Connection connection) const;

  // Cluster keys for connections to come; those that are open keep theirs. Errors: kInvalid where
  // there are none in `keys`, or the endpoint was made without.
  Result<void> set_keys(std::span<const transport::ClusterKey> keys);

  // --- memory ---

  // Names [start, start + bytes), which must outlive the handle. Errors: those of the datapath.
  Result<Memory> register_memory(void* start, size_t bytes);

  // --- messages: 0 bytes to 1 GiB; the n-th send of a channel meets its n-th receive ---

  // Posts; the payload stays untouched until the operation is done. Errors: kInvalid, kClosed,
  // kExhausted.
  Result<Operation> send(Connection connection, Channel channel, const transport::Payload& payload,
                         transport::AckPolicy ack_policy = transport::AckPolicy::kPrompt);
  Result<Operation> receive(Connection connection, Channel channel,
                            const transport::Payload& buffer,
                            transport::Fill fill = transport::Fill::kAtOnce);
  // The same for memory that is not registered: it is for the time of the operation.
  Result<Operation> send(Connection connection, Channel channel, const void* start, size_t bytes);
  Result<Operation> receive(Connection connection, Channel channel, void* start, size_t bytes);
  // What is posted while one of these lives leaves when it ends, so in fewer packets, unless
  // somebody drives meanwhile. For posts that follow each other at once: others wait with them.
  class Batch {
   public:
    explicit Batch(Endpoint& endpoint);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    Endpoint& endpoint_;
  };
  // Whether it is done; inline, gives the endpoint a turn if it is not.
  Outcome test(Operation operation);
  // The same without a turn, for loops over many operations around progress().
  Outcome peek(Operation operation);
  // Waits until it is done; not done in the answer: `timeout` passed, and it is still under way.
  Outcome wait(Operation operation, Nanos timeout);
  // Withdraws it, unless it is too late; it still has to be waited for.
  void cancel(Operation operation);
  // Of a receive that was posted to be filled on arrival: nobody else touches its memory any more.
  void fill_at_once(Operation receive);
  // Nobody will ask for it: it goes when it ends.
  void forget(Operation operation);

  // --- driving ---

  // Drives (inline) or sleeps until an operation ended, a connection changed, interrupt() was
  // called or `timeout` passed; at once if that was so since it last returned. False: nothing
  // happened. For loops over many operations (peek at all, then this), from one thread at a time.
  bool progress(Nanos timeout);
  // Ends a progress() of another thread, or the next one. Async-signal-unsafe.
  void interrupt();
  // Whether that has happened since it was asked last, or since progress() returned; at once. What
  // hangs on operations and connections need not be looked at while it has not.
  bool take_news();
  // One turn, for Drive::kExternal: returns when the next is wanted.
  Nanos turn();
  // A look of the helper, for Drive::kExternal: takes a turn if the owner has stayed away long
  // enough, and returns when the helper should look again.
  Nanos helper_turn();

  // --- what is observed; any thread may ---

  // What somebody keeps; observe() does nothing with others.
  events::KindSet observed() const;
  // Tells of what is built on this endpoint, to its sink and its recording; the event's time is
  // filled in.
  template <typename Event>
  void observe(Event event) {
    if (!observed().has(Event::kKind)) return;
    const Telling telling = begin_telling();
    if (telling.sink == nullptr) return;
    event.time = telling.now;
    telling.sink->on(event);
  }

  // --- beside the network ---

  // Where work comes from, too; null: nowhere. It must stay until it is replaced. One an endpoint.
  void set_companion(Companion* companion);
  // An eventfd that ends the sleep of who drives; -1 where the network has none.
  int wake_descriptor() const;

  // --- what it knows ---

  Nanos now() const;
  // The payload of a full burst to a host whose interface passes as much as this one's: a message
  // of several such bursts needs no short one. 0: segments leave one by one, or a NIC places them.
  uint32_t burst_payload_bytes() const;
  transport::Address local_address() const;            // of several NICs the first
  std::vector<transport::Address> local_nics() const;  // all of them
  const datapath::Capabilities& capabilities() const;
  // What switches hash on of packets that leave on this path from this NIC (path_statistics() says
  // which); 0: the network has no such thing.
  uint16_t source_port(uint16_t path, uint8_t nic) const;
  transport::Statistics statistics() const;
  std::optional<transport::ConnectionStatistics> statistics(Connection connection) const;
  std::vector<transport::PathStatistics> path_statistics(Connection connection) const;
  datapath::DatapathStatistics datapath_statistics() const;
  DriverStatistics driver_statistics() const;
  // Bytes held by the transport; memory for early messages apart.
  size_t bytes_held() const;

 private:
  class Body;
  Endpoint(std::shared_ptr<Body> body, std::shared_ptr<datapath::Datapath> network);
  Result<Operation> post_unregistered(OperationPlace place, void* start, size_t bytes);
  // While it is there, nobody else tells the sink anything.
  struct Telling {
    OwnMutex::Lock lock;
    events::Sink* sink = nullptr;  // null: this process is a child, which tells nothing
    Nanos now;
  };
  Telling begin_telling();

  // Of operations in a child of fork().
  static constexpr Outcome kForkedOutcome = {
      .done = true, .ok = false, .error = ErrorCode::kClosed};

  const OwnProcess<Body> body_;  // all that changes, and its locks
  // What does not change, which a child may ask for as well; and the clock.
  const std::shared_ptr<datapath::Datapath> network_;
  const events::KindSet observed_;
  const uint32_t burst_payload_bytes_;
};

}  // namespace heddle::engine
