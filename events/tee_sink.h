// TeeSink: passes every event to several sinks, in the order of add(). The sinks must outlive it.
#pragma once

#include <initializer_list>
#include <vector>

#include "base/check.h"
#include "events/events.h"

namespace heddle::events {

class TeeSink : public EachSink<TeeSink> {
 public:
  TeeSink() = default;
  TeeSink(std::initializer_list<Sink*> sinks) {
    for (Sink* sink : sinks) add(sink);
  }

  void add(Sink* sink) {
    CHECK(sink != nullptr);
    sinks_.push_back(sink);
  }

  KindSet wanted() const override {
    KindSet of_any;
    for (const Sink* sink : sinks_) of_any.add(sink->wanted());
    return of_any;
  }

  template <typename Event>
  void on_any(const Event& event) {
    for (Sink* sink : sinks_) sink->on(event);
  }

 private:
  std::vector<Sink*> sinks_;
};

}  // namespace heddle::events
