// FakeVerbs: libibverbs and one RDMA device for unit tests: queue pairs that record what is posted
// on them, and completions that a test makes. No bytes move. One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "datapath/verbs/device.h"
#include "datapath/verbs/library.h"

namespace heddle::datapath {

class FakeVerbs {
 public:
  FakeVerbs();
  ~FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;

  // Must end before this.
  std::unique_ptr<VerbsDevice> open();
  const VerbsLibrary& library() const { return library_; }

  size_t made() const;   // queue pairs, so far
  size_t alive() const;  // of them
  // Those that queue pairs were connected with, in order.
  std::vector<uint8_t> traffic_classes() const;

  // Posted on queue pairs that are alive and not completed, in order.
  struct Write {
    uint64_t id = 0;
    const void* from = nullptr;
    uint32_t bytes = 0;
  };
  std::vector<Write> writes() const;
  // The oldest write ends well.
  void complete_write();
  // The oldest write ends since the peer's NIC does not answer.
  void fail_write();
  // The driver reports an ibv_event_type; its descriptor stays readable from then on, as that of a
  // device that is gone.
  void report(int event);

  // A receive of this queue pair ends well: a write of some bytes with an immediate, or a plain
  // send of the peer.
  void arrive(uint32_t queue_pair, uint32_t immediate, uint32_t bytes = 0);
  void arrive_without_immediate(uint32_t queue_pair);
  // This many calls that change or end a queue pair find it busy.
  void be_busy(int calls);
  // From now on no queue takes a receive.
  void refuse_receives();
  // From now on a queue pair that is broken off completes its writes, as the kernel's drivers do.
  void flush_broken_pairs();
  // From now on the driver registers dmabufs or, with an errno, fails to.
  void take_dmabufs(int error);
  // Registered by their dmabuf, and not unregistered.
  struct Dmabuf {
    uint64_t offset = 0;
    size_t bytes = 0;
    uint64_t address = 0;
    int dmabuf = -1;

    bool operator==(const Dmabuf&) const = default;
  };
  std::vector<Dmabuf> dmabufs() const;
  static constexpr uint32_t kDmabufKey = 77;

  // While held, calls that end a queue pair block.
  void hold_ends(bool held);

 private:
  struct Nic;
  std::unique_ptr<Nic> nic_;
  VerbsLibrary library_;
};

}  // namespace heddle::datapath
