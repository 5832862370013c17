// UnderWay: the purposes of a communicator's pending calls over time. Bytes on the wire are known
// by spans of time and not by call; if all calls pending in a span have one purpose, its bytes are
// counted for that purpose.
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
  // Calls come in the order of their times, unless the recording is damaged.
  void begin(uint32_t call, uint32_t purpose, Nanos at);
  void end(uint32_t call, Nanos at);
  // The common purpose of all calls that were pending in the span; nothing where there was none, or
  // several. Ask soon after a span's end: old stretches are forgotten.
  std::optional<uint32_t> only(Nanos from, Nanos to) const;

 private:
  // A stretch lasts until the next one begins.
  struct Stretch {
    Nanos since;
    size_t purposes = 0;
    uint32_t purpose = 0;  // valid where `purposes` is 1
  };
  void note(Nanos at);

  std::unordered_map<uint32_t, uint32_t> calls_;  // call to purpose, of pending calls
  std::map<uint32_t, uint32_t> counts_;           // number of pending calls by purpose
  std::deque<Stretch> stretches_;
};

}  // namespace heddle::insight
