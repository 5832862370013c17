// Events that others tell of an endpoint, and the times that they get.
#include <algorithm>
#include <utility>

#include "engine/endpoint_body.h"

namespace heddle::engine {
namespace {

// How far what the processor's counter told was off.
constexpr Nanos kStampsToldApart = seconds(1);

}  // namespace

Endpoint::Telling Endpoint::Body::begin_telling() {
  Wheel::Lock lock = wheel_.lock();
  const Nanos now = stamp_clock_ ? stamp_to_record() : stamp();
  return {std::move(lock), sink_, now};
}

Nanos Endpoint::Body::stamp_to_record() {
  const Nanos now = std::max(driver_.last_turn_at(), stamp_clock_->now());
  if (now - stamps_told_ < kStampsToldApart) return now;
  stamps_told_ = now;
  tell_stamps_error(now);
  return now;
}

void Endpoint::Body::tell_stamps_error(Nanos now) {
  const events::TickScale::Error error = stamp_clock_->take_error();
  if (error.looks > 0) sink_->on(events::StampsChecked{now, error.most, error.looks});
}

}  // namespace heddle::engine
