// Turns acknowledgements and losses into the samples of the congestion controller.
#include "transport/congestion/feedback.h"

#include <algorithm>

#include "transport/params.h"

namespace heddle::transport {

using events::LossCause;

void CongestionFeedback::on_ack(Nanos now, uint16_t path, Controller& controller,
                                AckSample& sample) {
  sample.others_clean = others_clean(now, path, sample.active_paths, sample.smoothed_rtt);
  noise_.on_ack(sample.sent_at, sample.acked, sample.rtt);
  controller.on_ack(now, sample);
}

// Queues of a fabric that is shared evenly overflow here and there, and the retransmission takes
// another path. The window is reduced only when trimming persists for a full round trip.
bool CongestionFeedback::few_trimmed(Nanos now, const LossSample& sample, Bytes window) {
  if (now >= trimmed_.until) {
    trimmed_.until = now + sample.smoothed_rtt;
    trimmed_.bytes = {};
  }
  trimmed_.bytes = trimmed_.bytes + sample.lost;
  return trimmed_.bytes.count <= window.count / params::kTrimmedPart;
}

bool CongestionFeedback::is_noise(Nanos now, const PathLoss& loss, const LossSample& sample,
                                  Bytes window) {
  if (loss.cause == LossCause::kTrimmed) return few_trimmed(now, sample, window);
  return loss.cause == LossCause::kGap &&
         noise_.is_noise(sample.sent_at, sample.lost, loss.latest_rtt, loss.min_rtt);
}

void CongestionFeedback::on_loss(Nanos now, const PathLoss& loss, Controller& controller,
                                 LossSample& sample) {
  if (sample.sent_at > episode_.began) episode_ = {now, 0, 0};
  episode_.lost += loss.segments;
  if (sample.lost.count == 0) return;
  sample.others_clean = others_clean(now, loss.path, sample.active_paths, sample.smoothed_rtt);
  sample.timeout = loss.cause == LossCause::kTimeout;
  sample.path_failure = loss.cause == LossCause::kPathFailure;
  const Bytes window = controller.window();
  if (is_noise(now, loss, sample, window)) {
    if (loss.cause == LossCause::kGap && noise_.take_needless(sample.sent_at)) {
      controller.on_spurious_loss(now);
    }
    return;
  }
  controller.on_loss(now, sample);
  if (controller.window() < window) {
    noise_.on_reduced(now, sample.smoothed_rtt, window.count / loss.segment_bytes);
  }
  note_trouble(now, loss.path);
}

// One spurious retransmission among real losses does not take their reduction back.
void CongestionFeedback::on_spurious(Nanos now, uint64_t segments, Controller& controller) {
  episode_.spurious += static_cast<uint32_t>(segments);
  if (episode_.spurious >= episode_.lost) controller.on_spurious_loss(now);
}

void CongestionFeedback::note_trouble(Nanos now, uint16_t path) {
  if (path != trouble_.path) {
    trouble_.other_at = trouble_.at;
    trouble_.path = path;
  }
  trouble_.at = now;
}

bool CongestionFeedback::others_clean(Nanos now, uint16_t path, uint32_t active_paths,
                                      Nanos smoothed_rtt) const {
  const Nanos latest = path == trouble_.path ? trouble_.other_at : trouble_.at;
  return active_paths > 1 && (latest.count == 0 || now - latest > smoothed_rtt);
}

}  // namespace heddle::transport
