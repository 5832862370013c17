// Activity: what a host's processes did, for as long as somebody may still ask about it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::insight {

class Activity {
 public:
  // Which call: process, communicator, call.
  using Key = std::tuple<uint32_t, uint64_t, uint32_t>;

  void begin(const Key& key, int64_t at_ns, const std::string& operation);
  void end(const Key& key, int64_t at_ns);
  void mark(int64_t at_ns, const std::string& phase);
  // What ended before is not asked for any more.
  void forget(int64_t before_ns);

  // The calls under way between two times: "allreduce x4, send"; and the phase then.
  std::string operations(int64_t from_ns, int64_t to_ns) const;
  std::string phase(int64_t at_ns) const;

 private:
  struct Call {
    int64_t begin_ns = 0;
    int64_t end_ns = INT64_MAX;
    std::string operation;
  };
  static constexpr size_t kMost = 1 << 16;

  std::deque<Call> calls_;
  uint64_t forgotten_ = 0;             // calls before the first of these
  std::map<Key, uint64_t> under_way_;  // numbers, with those forgotten
  std::deque<std::pair<int64_t, std::string>> phases_;
};

}  // namespace heddle::insight
