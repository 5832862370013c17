// Segment: memory without a name that two processes map. It is gone when both are, however they
// end, and does not count against /dev/shm.
#pragma once

#include <cstddef>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "collectives/shared_memory/cells.h"

namespace heddle::collectives {

class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(Segment&& other) noexcept
      : shared_(std::exchange(other.shared_, nullptr)), mapped_(other.mapped_) {}
  Segment& operator=(Segment&& other) noexcept {
    std::swap(shared_, other.shared_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }

  // Of sizeof(SegmentLayout) bytes, touched only where used; `descriptor` becomes what another
  // process may map. Errors: kExhausted (limits), kUnavailable (the system has no such memory).
  static Result<Segment> create(Descriptor& descriptor);
  // What another process created. Errors: kInvalid where it is no such memory, or may still shrink
  // under the one who maps it.
  static Result<Segment> map(const Descriptor& descriptor);

  // Memory that both sides have in one process, for tests: a race is seen only where both sides use
  // one address. It must outlive the segment.
  static Segment within(SegmentLayout& shared) { return Segment(&shared, false); }

  SegmentLayout& shared() const { return *shared_; }

 private:
  Segment(SegmentLayout* shared, bool mapped) : shared_(shared), mapped_(mapped) {}
  SegmentLayout* shared_ = nullptr;
  bool mapped_ = false;
};

}  // namespace heddle::collectives
