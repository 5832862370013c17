// What a whole recording holds, over all its files: how complete it is, and how its clocks agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recordings/alignment.h"
#include "recordings/contents.h"

namespace heddle::recordings {

struct JobContents {
  std::vector<RecordingSummary> files;  // those that could be read
  std::vector<std::string> unreadable;  // and why not, for people
  Alignment alignment;
  uint32_t ranks = 0;                   // of the largest communicator
  std::vector<uint32_t> ranks_missing;  // of these, without a recording
  std::vector<std::string> hosts;

  // Nothing is missing of the files but what the rings' size dropped.
  bool sound() const;
  uint64_t events() const;
  uint64_t dropped_events() const;
  uint64_t missing_events() const;
  uint64_t not_ended() const;
};

// Aligns their clocks and reads all of them to their ends.
JobContents contents_of(const std::vector<std::string>& files);

}  // namespace heddle::recordings
