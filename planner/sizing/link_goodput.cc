// See link_goodput.h.
#include "planner/sizing/link_goodput.h"

#include <algorithm>

namespace heddle::planner {
namespace {

double share(const DistanceQuestion& question) {
  return question.mtu_bytes / (question.mtu_bytes + kHeaderBytes);
}

}  // namespace

double link_round_trip_s(const DistanceQuestion& question, double km) {
  return question.base_rtt_s + 2 * km * kSecondsAKm;
}

double link_capacity(const DistanceQuestion& question) {
  return question.link_bits_per_s * share(question);
}

double link_outstanding_bits(const DistanceQuestion& question) {
  return 8 * question.message_bytes * question.outstanding * question.queue_pairs;
}

double link_lossless(const DistanceQuestion& question, double km) {
  const double message = 8 * question.message_bytes / link_capacity(question);
  return std::min(link_capacity(question),
                  link_outstanding_bits(question) / (link_round_trip_s(question, km) + message));
}

double link_repeated(const DistanceQuestion& question, double km) {
  if (!question.go_back_n) return 1;
  const double in_flight =
      link_lossless(question, km) * link_round_trip_s(question, km) / (8 * question.mtu_bytes);
  return std::max(1.0, in_flight / question.queue_pairs);
}

double link_goodput(const DistanceQuestion& question, double km) {
  return link_lossless(question, km) * (1 - question.loss) /
         (1 - question.loss + question.loss * link_repeated(question, km));
}

}  // namespace heddle::planner
