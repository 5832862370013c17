// See queues.h.
#include "lab/queues.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::lab {
namespace {

constexpr uint64_t kFrameHeaderBytes = 14;

enum class Discipline { kNone, kBucket, kClasses };

Discipline discipline_of(const DirectionCondition& condition) {
  if (condition.rate.count == 0) return Discipline::kNone;
  return condition.faults.reorder_per_million > 0 ? Discipline::kClasses : Discipline::kBucket;
}

// Large enough for the data of a timer that fires half a millisecond late, so that the rate is
// reached; at least two packets.
uint64_t burst_bytes(const topology::LinkShape& shape, BitsPerSec rate) {
  const uint64_t late = bytes_within(micros(500), rate).count;
  return std::max(late, 2 * (shape.mtu_bytes + kFrameHeaderBytes));
}

std::string bucket(const Port& port, const topology::LinkShape& shape, BitsPerSec rate) {
  return fmt::format("qdisc replace dev {} root tbf rate {}bit burst {}b limit {}b\n", port.device,
                     rate.count, burst_bytes(shape, rate), shape.queue.count);
}

// Both classes may use the whole rate, the fast one first. (Delaying packets instead would need
// netem, which the kernel may lack.)
std::string classes(const Port& port, const topology::LinkShape& shape,
                    const DirectionCondition& condition) {
  const uint64_t rate = condition.rate.count;
  const uint64_t burst = burst_bytes(shape, condition.rate);
  const auto line = [&](const char* parent, const char* id, uint64_t guaranteed, int priority) {
    return fmt::format(
        "class replace dev {} parent {} classid {} htb rate {}bit ceil {}bit burst {}b cburst {}b "
        "prio {} quantum {}\n",
        port.device, parent, id, guaranteed, rate, burst, burst, priority,
        shape.mtu_bytes + kFrameHeaderBytes);
  };
  const auto queue = [&](const char* parent, const char* handle) {
    return fmt::format("qdisc replace dev {} parent {} handle {} bfifo limit {}b\n", port.device,
                       parent, handle, shape.queue.count);
  };
  return line("1:", "1:1", rate, 0) + line("1:1", "1:10", rate / 2, 1) +
         line("1:1", kFastClass, rate / 2, 0) + queue("1:10", "10:") + queue(kFastClass, "20:");
}

std::string classes_root(const Port& port) {
  return fmt::format("qdisc replace dev {} root handle 1: htb default 10\n", port.device);
}

}  // namespace

std::string queue_change(const Port& port, const topology::LinkShape& shape,
                         const DirectionCondition& before, const DirectionCondition& now) {
  const Discipline was = discipline_of(before);
  switch (discipline_of(now)) {
    case Discipline::kNone:
      if (was == Discipline::kNone) return "";
      return fmt::format("qdisc delete dev {} root\n", port.device);
    case Discipline::kBucket:
      return bucket(port, shape, now.rate);
    case Discipline::kClasses:
      return (was == Discipline::kClasses ? "" : classes_root(port)) + classes(port, shape, now);
  }
  return "";
}

std::string place_queues(const Layout& layout, const Place& place, const Conditions& conditions) {
  std::string text;
  for (const uint32_t at : place.ports) {
    const Port& port = layout.ports[at];
    const LinkCondition& link = conditions.links[port.link];
    text += queue_change(port, layout.topology.links[port.link].shape, {},
                         port.at_a ? link.forward : link.backward);
  }
  return text;
}

}  // namespace heddle::lab
