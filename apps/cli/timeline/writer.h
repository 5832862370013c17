// Writers of a timeline: each moment is written when it is added, so memory does not grow with the
// recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "insight/party.h"
#include "insight/timeline.h"

namespace heddle::cli {

// "call", "message", as CSV has it.
const char* kind_name(insight::MomentKind kind);

class TimelineWriter {
 public:
  // Takes text in pieces.
  using Out = std::function<void(const std::string&)>;

  virtual ~TimelineWriter() = default;
  virtual void begin(const std::vector<insight::Party>& parties) = 0;
  // `begin_ns` and `end_ns` from the beginning of what is shown.
  virtual void write(const insight::Moment& moment, int64_t begin_ns, int64_t end_ns) = 0;
  virtual void end() = 0;
};

// Chrome's trace events, which Perfetto and chrome://tracing open.
std::unique_ptr<TimelineWriter> make_trace_writer(TimelineWriter::Out out);
// A line a moment.
std::unique_ptr<TimelineWriter> make_csv_writer(TimelineWriter::Out out);

}  // namespace heddle::cli
