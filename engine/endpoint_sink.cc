// Where an endpoint's events go: see endpoint_sink.h.
#include "engine/endpoint_sink.h"

#include <algorithm>
#include <utility>

#include "engine/params.h"

namespace heddle::engine {
namespace {

// A TeeSink only where there are two sinks, so zero or one costs nothing extra.
events::Sink* choose(const Options& options, events::Recorder* recorder, events::TeeSink& both) {
  if (recorder == nullptr) return options.sink;
  if (options.sink == nullptr) return recorder;
  both.add(options.sink);
  both.add(recorder);
  return &both;
}

}  // namespace

EndpointSink::EndpointSink(const Options& options, std::unique_ptr<events::Recorder> recorder,
                           bool shared)
    : recorder_(std::move(recorder)),
      sink_(choose(options, recorder_.get(), both_)),
      observed_(sink_ == nullptr ? events::KindSet() : sink_->wanted()) {
  if (shared && sink_ != nullptr) sink_ = &locked_.emplace(*sink_);
  if (recorder_ != nullptr && options.recording.clock != nullptr) {
    clock_.emplace(options.recording.clock);
  }
}

OwnMutex::Lock EndpointSink::enter() { return locked_ ? mutex_.enter() : OwnMutex::Lock(); }

std::optional<Nanos> EndpointSink::stamp(Nanos least) {
  if (!clock_) return std::nullopt;
  const OwnMutex::Lock lock = enter();
  const Nanos now = std::max(least, clock_->now());
  if (now - error_reported_ < params::kStampReportInterval) return now;
  error_reported_ = now;
  emit_stamp_error(now);
  return now;
}

void EndpointSink::report_stamp_error(Nanos now) {
  if (!clock_) return;
  const OwnMutex::Lock lock = enter();
  emit_stamp_error(now);
}

void EndpointSink::emit_stamp_error(Nanos now) {
  const events::TickScale::Error error = clock_->take_error();
  if (error.looks > 0) sink_->on(events::StampsChecked{now, error.most, error.looks});
}

}  // namespace heddle::engine
