// How many cores this process may use, and leave to spin on them. Containers give few: affinity and
// the CPU quota of the control group both count.
#pragma once

#include <optional>
#include <string_view>

namespace heddle::engine {

// Cores of a cgroup v2 `cpu.max` ("150000 100000" is 1.5); nothing for "max" or text that is none.
std::optional<double> parse_cpu_max(std::string_view text);

// The path of this process in the cgroup v2 tree, from the text of /proc/self/cgroup; empty: none.
std::string_view parse_cgroup_path(std::string_view text);

// Whole cores that this process can keep busy, at least 1. Read once a process.
int usable_cores();

// Leave for one thread to spin. At most as many are out as there are cores beyond `reserved`.
class SpinPermit {
 public:
  SpinPermit() = default;
  // Without leave where no core is left.
  static SpinPermit take(int reserved_cores);
  ~SpinPermit();
  SpinPermit(SpinPermit&& other) noexcept : granted_(other.granted_) { other.granted_ = false; }
  SpinPermit& operator=(SpinPermit&&) = delete;

  bool granted() const { return granted_; }

 private:
  bool granted_ = false;
};

// Tells the core that this is a spinning loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace heddle::engine
