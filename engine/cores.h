// The cores that this process may use, and permits to spin on them. In containers both CPU affinity
// and the control group's CPU quota limit the number.
#pragma once

#include <optional>
#include <string_view>

namespace heddle::engine {

// Parses a cgroup v2 `cpu.max` ("150000 100000" is 1.5 cores); empty for "max" or malformed text.
std::optional<double> parse_cpu_max(std::string_view text);

// The path of this process in the cgroup v2 tree, parsed from /proc/self/cgroup; empty: none.
std::string_view parse_cgroup_path(std::string_view text);

// Whole cores that this process can keep busy, at least 1. Read once per process.
int usable_cores();

// A permit for one thread to spin. A process has at most usable_cores() - `reserved_cores` of them.
class SpinPermit {
 public:
  SpinPermit() = default;
  // granted() is false where no core is left.
  static SpinPermit take(int reserved_cores);
  ~SpinPermit();
  SpinPermit(SpinPermit&& other) noexcept : granted_(other.granted_) { other.granted_ = false; }
  SpinPermit& operator=(SpinPermit&&) = delete;

  bool granted() const { return granted_; }

 private:
  bool granted_ = false;
};

// Hints to the core that the thread spins.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace heddle::engine
