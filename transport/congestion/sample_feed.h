// SampleFeed: for tests only. Feeds one controller with the samples of a steady connection: a
// clock, a round trip, acknowledgements of what was sent one round trip before.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/congestion/controller.h"

namespace heddle::transport::model {

struct SampleFeed {
  Controller& controller;
  Nanos rtt = micros(100);
  Nanos min_rtt = micros(100);
  Nanos now = seconds(1);

  uint64_t window() const { return controller.window().count; }

  AckSample ack_sample(uint64_t bytes) const {
    return {.sent_at = now - rtt,
            .acked = {bytes},
            .rtt = rtt,
            .min_rtt = min_rtt,
            .smoothed_rtt = rtt,
            .in_flight = controller.window()};
  }

  // Of something sent just now: not answered by any earlier reduction.
  LossSample loss_sample(uint64_t bytes) const {
    return {.sent_at = now,
            .lost = {bytes},
            .in_flight = {window() - std::min(window(), bytes)},
            .smoothed_rtt = rtt};
  }

  void ack(uint64_t bytes) { controller.on_ack(now, ack_sample(bytes)); }

  // A round trip passes and the window as it was at its start is acknowledged, in `parts` equal
  // parts. Of each part `marked_per_mille` of the bytes are marked.
  void round_trip(uint32_t parts = 10, uint64_t marked_per_mille = 0) {
    const uint64_t window_before = window();
    // What is acknowledged first was sent just after what the last round reacted to.
    const Nanos began = now + nanos(1);
    for (uint32_t i = 1; i <= parts; ++i) {
      now = began + rtt * i / parts;
      AckSample sample = ack_sample(window_before * i / parts - window_before * (i - 1) / parts);
      sample.marked = {sample.acked.count * marked_per_mille / 1000};
      controller.on_ack(now, sample);
    }
  }

  void round_trips(int count) {
    for (int i = 0; i < count; ++i) round_trip();
  }

  // A segment sent now is lost, found a round trip later, when everything before it has been
  // acknowledged.
  void lose() {
    LossSample sample = loss_sample(1500);
    now += rtt;
    controller.on_loss(now, sample);
    now += nanos(1);
  }
};

}  // namespace heddle::transport::model
