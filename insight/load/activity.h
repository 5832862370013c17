// Activity: the calls and phases of a host's processes, kept while the load builder may query them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "insight/params.h"

namespace heddle::insight {

class Activity {
 public:
  // Identifies a call: process, communicator, call number.
  using Key = std::tuple<uint32_t, uint64_t, uint32_t>;

  void begin(const Key& key, int64_t at_ns, const std::string& operation);
  void end(const Key& key, int64_t at_ns);
  void mark(int64_t at_ns, const std::string& phase);
  // Removes calls and phases that ended before; they are not queried any more.
  void forget(int64_t before_ns);

  // The calls in progress between two times, such as "allreduce x4, send"; and the phase at a time.
  std::string operations(int64_t from_ns, int64_t to_ns) const;
  std::string phase(int64_t at_ns) const;

 private:
  struct Call {
    int64_t begin_ns = 0;
    int64_t end_ns = INT64_MAX;
    std::string operation;
  };
  static constexpr size_t kMost = params::load::kMostCalls;

  std::deque<Call> calls_;
  uint64_t forgotten_ = 0;             // number of calls removed from the front of `calls_`
  std::map<Key, uint64_t> under_way_;  // calls in progress, by number counted from the first call
                                       // ever
  std::deque<std::pair<int64_t, std::string>> phases_;
};

}  // namespace heddle::insight
