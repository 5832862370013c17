// EndpointSink: where an endpoint's events go (the user's sink, a recording, or both), and their
// time stamps where the recording has a clock of its own. Several engines share it: then each
// event passes alone, and any of their threads may call it.
#pragma once

#include <memory>
#include <optional>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "engine/options.h"
#include "events/locked_sink.h"
#include "events/recording.h"
#include "events/stamp_clock.h"
#include "events/tee_sink.h"

namespace heddle::engine {

class EndpointSink {
 public:
  // `recorder` may be null; `shared`: by several engines.
  EndpointSink(const Options& options, std::unique_ptr<events::Recorder> recorder, bool shared);
  EndpointSink(const EndpointSink&) = delete;
  EndpointSink& operator=(const EndpointSink&) = delete;

  events::Sink* sink() const { return sink_; }  // null: nothing is observed
  events::KindSet observed() const { return observed_; }

  // The time of an event by the recording's clock, at least `least`; nothing if it has none.
  std::optional<Nanos> stamp(Nanos least);
  // Emits the clock's error since the last report.
  void report_stamp_error(Nanos now);

 private:
  // Holds nothing for a single engine, whose lock its callers hold.
  OwnMutex::Lock enter();
  void emit_stamp_error(Nanos now);

  const std::unique_ptr<events::Recorder> recorder_;
  events::TeeSink both_;
  events::Sink* sink_;
  std::optional<events::LockedSink> locked_;  // what sink_ is, where it is shared
  const events::KindSet observed_;
  OwnMutex mutex_;  // of what follows
  std::optional<events::StampClock> clock_;
  Nanos error_reported_;
};

}  // namespace heddle::engine
