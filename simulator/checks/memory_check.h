// MemoryCheck: the oracle of received bytes, for one datapath. It sees every write into its memory
// and knows which buffers are posted, so it finds: a byte copied twice, a write outside of every
// posted buffer, a completed buffer with a wrong byte, and any change of a buffer after its
// completion. Buffers may lie in host or in virtual memory. Only regions that are watched are
// judged (memory for early messages is the transport's own).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/checks/coverage.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

class MemoryCheck : private WriteObserver {
 public:
  // Observes `datapath`, which must outlive it.
  explicit MemoryCheck(SimDatapath& datapath);
  ~MemoryCheck() override;
  MemoryCheck(const MemoryCheck&) = delete;
  MemoryCheck& operator=(const MemoryCheck&) = delete;

  void watch(transport::RegionId region) { regions_[region]; }
  // A receive is posted: the buffer, which no other posted or completed one may overlap, now holds
  // bytes that no message has.
  void post(const transport::Payload& buffer);
  // It completed: its first `bytes` must be those of `pattern` from `at` on. From now on it is
  // frozen.
  void complete(const transport::Payload& buffer, uint64_t bytes, uint64_t pattern, uint64_t at);
  // It ended without a message: its bytes are nobody's, but frozen as well.
  void fail(const transport::Payload& buffer);
  // The caller uses the memory again: checks a last time that nothing changed.
  void release(const transport::Payload& buffer);

  // What was found, at most 100 of them; empty is good.
  const std::vector<std::string>& violations() const { return violations_; }
  uint64_t writes_seen() const { return writes_seen_; }
  uint64_t bytes_verified() const { return bytes_verified_; }

 private:
  enum class State : uint8_t { kPosted, kDone, kFailed };

  struct Buffer {
    uint64_t length = 0;
    State state = State::kPosted;
    Coverage copied;
    uint64_t bytes = 0;  // kDone: of the message
    uint64_t pattern = 0;
    uint64_t at = 0;
  };
  using Buffers = std::map<uint64_t, Buffer>;  // by offset, disjoint

  void handle_write(const transport::Payload& range, bool copied) override;
  Buffer& find(const transport::Payload& buffer);
  void verify(const transport::Payload& buffer, const Buffer& expected, const char* when);
  bool holds(const transport::Payload& range, uint64_t pattern, uint64_t at);
  void poison(const transport::Payload& buffer);
  void report(const char* what, const transport::Payload& where);

  SimDatapath& datapath_;
  std::map<transport::RegionId, Buffers> regions_;
  std::vector<Content> pieces_;
  std::vector<std::string> violations_;
  uint64_t writes_seen_ = 0;
  uint64_t bytes_verified_ = 0;
};

}  // namespace heddle::simulator
