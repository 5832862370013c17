// WithoutInterpreterLock: gives Python's lock back for its lifetime where this thread holds it, so
// that threads may be waited for which need it to let go of tensors.
#pragma once

namespace heddle::pytorch {

class WithoutInterpreterLock {
 public:
  WithoutInterpreterLock();
  ~WithoutInterpreterLock();
  WithoutInterpreterLock(const WithoutInterpreterLock&) = delete;
  WithoutInterpreterLock& operator=(const WithoutInterpreterLock&) = delete;

 private:
  void* state_ = nullptr;
};

}  // namespace heddle::pytorch
