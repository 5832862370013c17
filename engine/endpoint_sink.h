// EndpointSink: where an endpoint's events go (the user's sink, a recording, or both), and their
// time stamps where the recording has a clock of its own.
#pragma once

#include <memory>
#include <optional>

#include "base/nanos.h"
#include "engine/options.h"
#include "events/recording.h"
#include "events/stamp_clock.h"
#include "events/tee_sink.h"

namespace heddle::engine {

class EndpointSink {
 public:
  // `recorder` may be null.
  EndpointSink(const Options& options, std::unique_ptr<events::Recorder> recorder);
  EndpointSink(const EndpointSink&) = delete;
  EndpointSink& operator=(const EndpointSink&) = delete;

  events::Sink* sink() const { return sink_; }  // null: nothing is observed
  events::KindSet observed() const { return observed_; }

  // The time of an event by the recording's clock, at least `least`; nothing if it has none.
  std::optional<Nanos> stamp(Nanos least);
  // Emits the clock's error since the last report.
  void report_stamp_error(Nanos now);

 private:
  const std::unique_ptr<events::Recorder> recorder_;
  events::TeeSink both_;
  events::Sink* const sink_;
  const events::KindSet observed_;
  std::optional<events::StampClock> clock_;
  Nanos error_reported_;
};

}  // namespace heddle::engine
