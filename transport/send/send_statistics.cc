// SendController's part of the statistics of a connection and of its paths.
#include <algorithm>
#include <vector>

#include "transport/send/send_controller.h"

namespace heddle::transport {

void SendController::fill(ConnectionStatistics& s) const {
  s.smoothed_rtt = paths_.round_trip().smoothed();
  s.min_rtt = paths_.round_trip().minimum();
  s.window_bytes = window_.is_open() ? window_.controller().window().count : 0;
  s.pacing_rate = window_.is_open() ? window_.controller().pacing_rate() : BitsPerSec{};
  s.paths = paths_.size();
  s.congestion_marks = feedback_.marks();
  s.offered_datagram_bytes = pmtu_.largest();
  s.refused_datagram_bytes = pmtu_.smallest_refused();
  s.segment_bytes = 0;
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    s.segment_bytes = std::max(s.segment_bytes, paths_.segment_bytes(id));
  }
}

void SendController::fill(std::vector<PathStatistics>& statistics) const {
  statistics.resize(paths_.size());
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    const TxPath& path = paths_[id];
    statistics[id] = {id,
                      path.active(),
                      path.payload_bytes_sent,
                      paths_.segment_bytes(id),
                      path.segments_lost,
                      path.trip.smoothed()};
  }
}

}  // namespace heddle::transport
