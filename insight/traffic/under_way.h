// UnderWay: what the calls of a communicator were for, over time. What went on the wire is known
// by spans of time and not by call; a span in which all that was under way was for one purpose was
// for that.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/nanos.h"

namespace heddle::insight {

class UnderWay {
 public:
  // In the order of their times, as far as a recording is sound.
  void begin(uint32_t call, uint32_t purpose, Nanos at);
  void end(uint32_t call, Nanos at);
  // For what all were that were under way then; nothing where there was none, or several purposes.
  // Spans are asked for soon after their end: what is long ago is forgotten.
  std::optional<uint32_t> only(Nanos from, Nanos to) const;

 private:
  // From then on, to the next.
  struct Stretch {
    Nanos since;
    size_t purposes = 0;
    uint32_t purpose = 0;  // where it is one
  };
  void note(Nanos at);

  std::unordered_map<uint32_t, uint32_t> calls_;  // purposes of those under way
  std::map<uint32_t, uint32_t> counts_;           // calls under way of each purpose
  std::deque<Stretch> stretches_;
};

}  // namespace heddle::insight
