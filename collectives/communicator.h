// Communicator: a group of ranks that call collectives together. All ranks make the same calls in
// the same order; a call returns at once and is done when its request is. Calls run side by side.
// One thread at a time uses a communicator, and those that share its links. Where ranks' calls
// differ, or a rank is lost, every call on every rank ends with an error that names it, and the
// communicator is of no more use: make another, or let shrink() make one of the ranks that are
// left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/call.h"
#include "collectives/data_type.h"
#include "collectives/links.h"
#include "collectives/members.h"
#include "collectives/params.h"
#include "collectives/tuning.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class MessageCarrier;

// Whether ranks of one host share memory, where both sides say so. kSlots: they do, but none reads
// the other's own memory.
enum class SharedMemory : uint8_t { kNever, kSlots, kAuto };

struct CommunicatorOptions {
  Tuning tuning;  // rank 0's counts
  Nanos stalled_after =
      params::kStalledAfter;  // a call that waits longer asks the ranks it waits for
  SharedMemory shared_memory = SharedMemory::kNever;
  // Where tables of measured costs are kept (table_file.h); empty: nowhere. Rank 0's counts.
  std::string table_folder;
  // Memory for payload before a reduction or a send. Every call uses the same bytes, so contents
  // are garbage: for simulations only, where a thousand ranks share a process. Payload that does
  // not fit uses separate memory, as all payload does if this is empty. Must outlive the
  // communicator.
  std::span<std::byte> staging;
  // For simulations: what carries messages in place of connections (message_carrier.h); null:
  // nothing does. Must outlive the communicator.
  MessageCarrier* carrier = nullptr;
};

// What a call works on. `count` is in elements: of the whole (all_reduce, broadcast, reduce, send,
// receive), or of one rank's block (the others), so that the larger buffer has count times the
// number of ranks. In place: both are the same memory, or the smaller one lies where its rank's
// block is in the larger. The memory stays as it is until the call is done.
struct Data {
  const void* input = nullptr;
  void* output = nullptr;
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
};

struct ShrinkOptions {
  // A rank that lives and has not called shrink() within this is left out.
  Nanos join_within = params::kJoinWithin;
  // Processes that are to be in the next communicator, behind the ranks that are left. They are if
  // all of these name the same; growth.h finds them.
  std::vector<transport::Address> newcomers = {};
};

// A running call; invalid after the test() or wait() that returns its end.
struct Request {
  uint64_t id = 0;  // 0: none
  explicit operator bool() const { return id != 0; }
};

class Communicator {
 public:
  // Returns at once; calls may be made, and begin when the ranks agree on a tuning. `links` is of
  // the endpoint that has this rank's address. Errors: kInvalid (no such rank), those of the
  // engine.
  static Result<std::unique_ptr<Communicator>> create(std::shared_ptr<Links> links,
                                                      const Members& members,
                                                      const CommunicatorOptions& options = {});
  // Closes the connections to the other ranks; aborts if calls are running.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Begins what the destructor does, for owners that may not wait there: attend() until left().
  void begin_leaving();
  // Whether the destructor would wait no more.
  bool left();

  uint32_t rank() const;
  uint32_t size() const;
  // As the ranks agreed; nothing before they have.
  std::optional<Tuning> tuning() const;
  // Which algorithm a call of this size takes; nothing before tuning().
  std::optional<Algorithm> algorithm_for(Collective collective, uint64_t bytes) const;

  // --- calls. Errors: kInvalid (sizes, root, buffers), or why the communicator has failed ---

  Result<Request> all_reduce(const Data& data, ReduceOp op);
  Result<Request> reduce_scatter(const Data& data, ReduceOp op);
  Result<Request> reduce(const Data& data, ReduceOp op, uint32_t root);
  Result<Request> all_gather(const Data& data);
  Result<Request> broadcast(const Data& data, uint32_t root);
  Result<Request> gather(const Data& data, uint32_t root);
  Result<Request> scatter(const Data& data, uint32_t root);
  Result<Request> all_to_all(const Data& data);
  // `data.count` means nothing; the buffers may not overlap.
  Result<Request> all_to_all_v(const Data& data, const ExchangeCounts& counts);
  Result<Request> barrier();
  // Any of these, for callers that hold calls as data. What `count` means stands at Data.
  Result<Request> post(Call call);
  // Messages between two ranks meet in the order of their calls there, whatever else is called.
  Result<Request> send(const Data& data, uint32_t to);
  Result<Request> receive(const Data& data, uint32_t from);

  // Calls from here to group_end() begin together, there; its request is done when all are. Their
  // own requests hold as well.
  void group_start();
  Result<Request> group_end();

  // --- their ends ---

  // Whether it is done; gives the endpoint a turn if not. Errors: why it failed, which is its end
  // too.
  Result<bool> test(Request request);
  // The same without a turn, for a loop that drives the endpoint itself; see advance().
  Result<bool> peek(Request request);
  // Waits for its end. Errors: kTimeout (the call continues; names the ranks that it waits for), or
  // as test().
  Result<void> wait(Request request, Nanos timeout = Nanos::never());
  // For owners that wait by peek(): emits the event that the caller begins to wait for this call
  // (`begins`), or continues. wait() emits both.
  void report_waiting(Request request, bool begins);
  // Discards the request; the call continues.
  void forget(Request request);

  // Does what can be done without waiting; true: something was. For a loop around
  // engine::Endpoint::progress(), or in the simulator after each turn.
  bool advance();
  // advance() for an owner that sleeps: the step that wait() repeats, which also sends requests to
  // ranks that calls wait for. If nothing moved, call it again at `again_at`, or when the
  // endpoint's progress() returns.
  struct Attention {
    bool moved = false;
    Nanos again_at = Nanos::never();
  };
  Attention attend();
  // The ranks that the oldest running call waits for, as text.
  std::string waits_for() const;

  // Ends all calls, here and on all other ranks; `why` is their error.
  void abort();
  void abort(ErrorCode code, const std::string& why);
  // Why it failed; nothing while it works.
  std::optional<Error> failure() const;

  // --- after a rank was lost ---

  // Ends all calls, here and on all other ranks, with kCancelled: every rank that learns of it
  // sends it to all that it is connected to. For a rank that is to go on without one that others
  // wait for.
  void revoke();
  // The communicator of the ranks that are left, and the rank that each of them had here. Their
  // order and the connections between them are kept. Revokes this communicator, if it still works;
  // every rank that is left calls it, and it waits for them. The larger part of the ranks goes on:
  // it has more than half of them, or half of them with rank 0. Errors: kUnavailable (this part is
  // not the larger), kPeerDead (the others went on without this rank), kTimeout, kExhausted, those
  // of create(). membership/membership_agreement.h has the protocol.
  struct Shrunk {
    std::unique_ptr<Communicator> communicator;
    Members members;                     // of it
    std::vector<uint32_t> former_ranks;  // of newcomers none: they follow
  };
  Result<Shrunk> shrink(const ShrinkOptions& options = {});
  // The same without waiting, for owners that drive it: what shrink() returns, once.
  void begin_shrink(const ShrinkOptions& options = {});
  std::optional<Result<Shrunk>> take_shrunk();

  // Ranks that name the same colour make a communicator, in the order of `key` and then of their
  // ranks here. All ranks call it; it waits. Null for a negative colour. Errors: as of calls.
  Result<std::unique_ptr<Communicator>> split(int32_t colour, int32_t key);

 private:
  class Body;
  explicit Communicator(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::collectives
