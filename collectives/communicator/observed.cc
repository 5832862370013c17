// Communicator::Body, second part: the events that it emits.
#include "collectives/communicator/body.h"
#include "collectives/event_names.h"
#include "events/events.h"

namespace heddle::collectives {
namespace {

// The number of a request in events, unique within a communicator.
uint32_t call_of(uint64_t request) { return static_cast<uint32_t>(request >> 32); }

uint64_t elements_of(const Call& call) {
  uint64_t count = call.count;
  for (const uint64_t each : call.exchange.send_counts) count += each;
  return count;
}

}  // namespace

void Communicator::Body::observe_made(const WaitingCall& made) {
  if (!endpoint_.observed().has(events::EventKind::kCallMade)) return;
  const Call& call = made.call;
  endpoint_.observe(events::CallMade{{},
                                     members_.communicator,
                                     call_of(made.request),
                                     made.number,
                                     static_cast<events::Operation>(call.collective),
                                     static_cast<events::ElementType>(call.type),
                                     elements_of(call),
                                     call.root,
                                     call_of(group_)});
}

void Communicator::Body::observe_started(const RunningCall& running, const Shape& shape,
                                         engine::Channel channel) {
  const bool has_lane = channel >= RunningCalls::kFirstLane;
  const bool two_level = shape.algorithm == Algorithm::kTwoLevel;
  endpoint_.observe(events::CallStarted{{},
                                        members_.communicator,
                                        call_of(running.request),
                                        static_cast<events::Operation>(running.call.collective),
                                        name_in_events(shape.algorithm),
                                        channel,
                                        static_cast<uint16_t>(has_lane ? kStepChannels : 1),
                                        Signature::kBytes,
                                        static_cast<uint32_t>(shape.chunk_bytes),
                                        events::Protocol::kNone,
                                        two_level ? shape.group_ranks : 0});
}

void Communicator::Body::observe_ended(uint64_t request, bool ok) {
  endpoint_.observe(events::CallEnded{{}, members_.communicator, call_of(request), ok});
}

void Communicator::Body::report_waiting(uint64_t request, bool begins) {
  if (begins) {
    endpoint_.observe(events::WaitBegun{{}, members_.communicator, call_of(request)});
  } else {
    endpoint_.observe(events::WaitEnded{{}, members_.communicator, call_of(request)});
  }
}

}  // namespace heddle::collectives
