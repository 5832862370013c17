// SharedFlag: for tests of interruptions: what answers a command of a ScriptedFabric, in a process
// of its own, sets it, and the test that waits for the command sees it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace heddle::acceptance {

class SharedFlag {
 public:
  SharedFlag() : memory_(mmap(nullptr, sizeof(Count), kAccess, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
    count_ = new (memory_) Count(0);
  }
  ~SharedFlag() { munmap(memory_, sizeof(Count)); }
  SharedFlag(const SharedFlag&) = delete;
  SharedFlag& operator=(const SharedFlag&) = delete;

  // How often it was set before.
  int set() const { return (*count_)++; }
  bool is_set() const { return *count_ > 0; }
  void clear() const { *count_ = 0; }

 private:
  using Count = std::atomic<int>;
  static constexpr int kAccess = PROT_READ | PROT_WRITE;

  void* memory_;
  Count* count_ = nullptr;
};

}  // namespace heddle::acceptance
