// Streams: the events of a FaultCase's ranks without a simulation of packets: calls, waits and
// arrivals of messages follow from computation and links by recurrences, so that a core makes
// thousands of jobs a minute. A message leaves when its sender has received what it forwards, and
// takes its link's time, which congestion, repairs and the fault lengthen.
#pragma once

#include "bench/diagnosis/fault_case.h"
#include "bench/diagnosis/observed_job.h"

namespace heddle::bench {

ObservedJob make_stream(const FaultCase& job);

}  // namespace heddle::bench
