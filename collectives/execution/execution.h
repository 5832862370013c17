// Execution: executes one call's schedule over links to the other ranks: posts messages, polls
// them, combines received data. It never waits; the driver of the endpoint drives it. The first
// message of a call to each peer carries the call's signature.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/call.h"
#include "collectives/execution/buffered_sends.h"
#include "collectives/execution/call_memory.h"
#include "collectives/execution/link.h"
#include "collectives/execution/memory_cache.h"
#include "collectives/execution/mesh.h"
#include "collectives/execution/scoreboard.h"
#include "collectives/execution/slots.h"
#include "collectives/schedule/schedule.h"

namespace heddle::collectives {

// What executions of a communicator share.
struct Resources {
  // `shared`: CommunicatorOptions::staging.
  Resources(Links& links, const Members& all, uint64_t chunk_bytes, const MeshOptions& options,
            std::span<std::byte> shared = {})
      : endpoint(links.endpoint()),
        members(all),
        small(links.endpoint(), Signature::kBytes + kSmallBytes),
        buffered_sends(links.endpoint(), small),
        mesh(links, all, small, buffered_sends, options),
        chunks(links.endpoint(), chunk_bytes, shared),
        memory(links.endpoint()),
        staging(shared) {}

  engine::Endpoint& endpoint;
  Members members;
  SlotPool small;
  BufferedSends buffered_sends;
  Mesh mesh;
  SlotPool chunks;
  MemoryCache memory;
  std::span<std::byte> staging;
};

class Execution {
 public:
  enum class Progress : uint8_t {
    kDone,
    kMoved,    // and may go on at once
    kWaiting,  // for messages
    kFailed,   // see failure()
  };

  explicit Execution(Resources& resources)
      : resources_(resources), memory_(resources.endpoint, resources.memory, resources.staging) {}
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Begins a call whose messages go on `channel` and the ones behind it. The call and the shape
  // stay until it is over. Errors: those of registering memory.
  Result<void> begin(const Call& call, const Shape& shape, uint64_t number,
                     engine::Channel channel);
  Progress advance();
  const Failure& failure() const { return failure_; }
  // Every message was posted, so that another execution may use its channels.
  bool posted() const;
  // The communicator has failed: ends what was posted. settled() is true when it has ended.
  void withdraw();
  // After withdraw(), or after all connections were aborted: nothing is posted any more, and all
  // memory is given back.
  bool settled();
  // Ranks whose messages it waits for.
  std::vector<uint32_t> waits_for() const;
  Signature signature_with(uint32_t peer, bool sends) const {
    return signature_of(*call_, number_, peer, sends);
  }

 private:
  struct Active {
    Step step;
    Message message;
    Link* link = nullptr;       // null: it waits for its turn on its stream, for memory, for a link
    Link* reached = nullptr;    // where data of it may be in flight
    bool noted_posted = false;  // to the board
    uint64_t done_bytes = 0;    // combined or copied
  };

  Progress go_on();
  bool admit();
  bool prepare(Active& active);
  bool step_on(uint32_t slot);
  bool post(uint32_t slot);
  Result<void> post_on(Link& link, Active& active);
  bool look(uint32_t slot);
  void note_progress(uint32_t slot);
  void release_untouched();
  bool heed_signature(Active& active);
  bool ended_badly(Active& active, ErrorCode error);
  bool take_piece(uint32_t slot, const Link::Sight& sight);
  bool copy(uint32_t slot);
  uint64_t within_budget(uint64_t bytes);
  void finish(uint32_t slot);
  void give_back(Active& active);
  std::byte* address(const Place& place) const { return memory_.address(place); }
  const Place& place_of(const Step& step) const {
    return step.kind == StepKind::kSend ? step.source : step.destination;
  }
  bool note_first(const Step& step);
  void fail_with(const Error& error, uint32_t rank);
  void compare(uint32_t peer, const Signature& theirs);

  Resources& resources_;
  const Call* call_ = nullptr;
  Schedule schedule_;
  uint64_t number_ = 0;
  engine::Channel channel_ = 0;
  uint64_t next_ = 0;
  uint32_t element_bytes_ = 1;
  uint32_t divisor_ = 1;
  uint32_t chunks_held_ = 0;
  uint64_t budget_ = 0;
  bool failed_ = false;
  bool copies_ = false;  // small messages, though they are not their streams' first
  Scoreboard board_;
  uint32_t still_touched_ = 0;  // a bit for each posted receive whose memory others touch
  std::array<Active, Scoreboard::kWindow> active_{};
  std::vector<uint8_t> streams_seen_;             // by rank, a bit for each channel and direction
  std::optional<engine::Endpoint::Batch> batch_;  // while messages are posted one after another
  CallMemory memory_;
  Failure failure_;
};

}  // namespace heddle::collectives
