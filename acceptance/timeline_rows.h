// Timeline rows: calls and waits of ranks from the CSV of `heddle timeline`, for the drawing of a
// report. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::acceptance {

struct TimelineMoment {
  uint32_t process = 0;  // in the order of the recording's files
  bool is_wait = false;  // else a call
  std::string name;
  int64_t begin_ns = 0;  // since the first call began
  int64_t end_ns = 0;
};

struct Timeline {
  std::vector<TimelineMoment> moments;  // by their begin
  int64_t span_ns = 0;
  size_t left_out = 0;  // the shortest ones
};

// At most `most` moments. Lines that are not as they should be are left out.
Timeline timeline_of_csv(const std::string& csv, size_t most);

}  // namespace heddle::acceptance
