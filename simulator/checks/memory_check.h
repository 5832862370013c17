// MemoryCheck: the oracle of received bytes, for one datapath. It observes every write to memory
// and knows the posted buffers. It detects a byte copied twice, a write outside of posted buffers,
// a wrong byte in a completed buffer, and any change of a buffer after its completion. Buffers may
// be in host or virtual memory. Only watched regions are checked (the transport owns eager memory).
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
  // A receive is posted. The buffer must not overlap any posted or completed one; it is filled with
  // bytes that no message contains.
  void post(const transport::Payload& buffer);
  // The receive completed: its first `bytes` must be those of `pattern` from `at` on. From now on
  // it must not change.
  void complete(const transport::Payload& buffer, uint64_t bytes, uint64_t pattern, uint64_t at);
  // The receive ended without a message: its contents are undefined, but must not change either.
  void fail(const transport::Payload& buffer);
  // The caller reuses the memory: checks one last time that it is unchanged.
  void release(const transport::Payload& buffer);

  // The violations found, at most 100; empty is good.
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
