// BottleneckModel: for tests only. One queue that every flow crosses, segment by segment, with a
// rate, a fixed round trip, a finite buffer and a marking threshold; flows that always have
// something to send, each with a controller and a pacer. It is small enough to run a controller for
// seconds of virtual time before the whole transport exists around it, and says how the flows share
// the link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport::model {

struct BottleneckOptions {
  BitsPerSec rate = gigabits_per_s(10);
  Nanos base_rtt = micros(50);
  Bytes buffer = kibibytes(512);
  Bytes mark_above = {UINT64_MAX};  // segments that find more than this in the queue are marked
  Bytes segment = {1500};
  Nanos jitter = micros(2);       // added to each return, uniformly; order within a flow is kept
  uint32_t drop_per_million = 0;  // segments lost whatever the queue holds
  uint64_t seed = 1;
};

struct FlowOptions {
  std::string controller;
  Nanos start;
  Nanos stop = Nanos::never();
  Bytes limit = mebibytes(64);
};

struct FlowResult {
  uint64_t delivered_bytes = 0;   // while measured
  uint64_t dropped_segments = 0;  // at any time
  uint64_t marked_segments = 0;
  uint64_t window_bytes = 0;  // at the end
};

struct BottleneckResult {
  std::vector<FlowResult> flows;
  double utilization = 0;  // of the link, while measured
  Nanos mean_queue;        // what a segment waited, while measured
  Nanos longest_queue;     // while measured

  // Jain's fairness index over the flows' deliveries: 1 when all are equal, 1/n when one has all.
  double jain_index() const;
};

// Runs the flows until `end` and measures from `measure_from` on.
BottleneckResult run_bottleneck(const BottleneckOptions& options,
                                const std::vector<FlowOptions>& flows, Nanos measure_from,
                                Nanos end);

}  // namespace heddle::transport::model
