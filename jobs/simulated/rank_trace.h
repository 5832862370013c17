// RankTrace: forwards a rank's events to the counters of the run and to a recording. Calls that
// only open connections before time 0 are not part of the job, so the recording omits them.
#pragma once

#include "events/events.h"

namespace heddle::jobs {

class RankTrace final : public events::EachSink<RankTrace> {
 public:
  // Both outlive it.
  RankTrace(events::Sink& counters, events::Sink& recorder)
      : counters_(counters), recorder_(recorder) {}

  // It is time 0.
  void begin() { begun_ = true; }

  template <typename Event>
  void on_any(const Event& event) {
    counters_.on(event);
    if (begun_ || !of_calls(Event::kKind)) recorder_.on(event);
  }

 private:
  static constexpr bool of_calls(events::EventKind kind) {
    using enum events::EventKind;
    return kind == kCallMade || kind == kCallStarted || kind == kCallEnded ||
           kind == kMessageCompleted || kind == kSharedMessageCompleted;
  }

  events::Sink& counters_;
  events::Sink& recorder_;
  bool begun_ = false;
};

}  // namespace heddle::jobs
