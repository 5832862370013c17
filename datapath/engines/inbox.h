// Inbox: datagrams that other engines' threads received for an engine. Any thread adds; the
// engine's thread takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/own_mutex.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

class Datapath;

// Runs of whole frames, and the memory of these frames.
class HandedRuns {
 public:
  // The datagrams `first` to `end` of a run; `payload` is where a placed run's payload is, null of
  // others.
  struct Part {
    const transport::RxRun* run = nullptr;
    uint32_t first = 0;
    uint32_t end = 0;
    const std::byte* payload = nullptr;

    uint32_t bytes_of(uint32_t segment) const {
      return segment + 1 == run->segments ? run->last_segment_bytes : run->segment_bytes;
    }
  };

  // Copies the datagrams.
  void add(const Part& part);
  // The next run, valid until clear(); false: there is none.
  bool next(transport::RxRun& run);
  bool all_taken() const { return taken_ == runs_.size(); }
  // With what is kept of each run: tiny datagrams, which any stranger may send, count as well.
  size_t bytes() const {
    return bytes_.size() + runs_.size() * (sizeof(transport::RxRun) + sizeof(size_t));
  }
  void clear();

 private:
  void append(const std::byte* from, size_t bytes) {
    bytes_.insert(bytes_.end(), from, from + bytes);
  }

  std::vector<std::byte> bytes_;
  std::vector<transport::RxRun> runs_;
  std::vector<size_t> starts_;  // of each run's frames in bytes_
  size_t taken_ = 0;
};

class Inbox {
 public:
  // The datapath that an addition wakes; null: it is gone, and all additions are dropped.
  void set_owner(Datapath* owner);

  // False: dropped, because it is full or its owner is gone.
  bool add(const HandedRuns::Part& part);
  // Exchanges the contents with `empty`. False: there are none.
  bool take(HandedRuns& empty);

 private:
  std::atomic<bool> filled_ = false;
  OwnMutex mutex_;
  Datapath* owner_ = nullptr;
  HandedRuns runs_;
};

}  // namespace heddle::datapath
