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

EndpointSink::EndpointSink(const Options& options, std::unique_ptr<events::Recorder> recorder)
    : recorder_(std::move(recorder)),
      sink_(choose(options, recorder_.get(), both_)),
      observed_(sink_ == nullptr ? events::KindSet() : sink_->wanted()) {
  if (recorder_ != nullptr && options.recording.clock != nullptr) {
    clock_.emplace(options.recording.clock);
  }
}

std::optional<Nanos> EndpointSink::stamp(Nanos least) {
  if (!clock_) return std::nullopt;
  const Nanos now = std::max(least, clock_->now());
  if (now - error_reported_ < params::kStampReportInterval) return now;
  error_reported_ = now;
  report_stamp_error(now);
  return now;
}

void EndpointSink::report_stamp_error(Nanos now) {
  if (!clock_) return;
  const events::TickScale::Error error = clock_->take_error();
  if (error.looks > 0) sink_->on(events::StampsChecked{now, error.most, error.looks});
}

}  // namespace heddle::engine
