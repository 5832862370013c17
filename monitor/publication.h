// Publication: what is published of a watched job, for programs and for `heddle monitor --all`:
// each change of its faults, its state at intervals, and series of its ranks. A pure function of
// what it is given; messaging/ carries the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "messaging/publisher.h"
#include "monitor/documents.h"
#include "monitor/rank_series.h"

namespace heddle::monitor {

// The version of what is published.
inline constexpr int64_t kPublicationVersion = 1;

struct PublishedJob {
  std::string name;        // for people, and in subjects
  std::string host;        // of its monitor
  std::string folder;      // of its recordings, a whole path
  int64_t run_ns = 0;      // when this monitor began, since 1970: another one after it has more
  std::string id() const;  // of host, folder and name: 16 hexadecimal digits
};

// SUBJECT.JOB.ID.change, .state, and .series.FIRST, by the first process in it.
class Publication {
 public:
  Publication(std::string subject, PublishedJob job, Nanos state_every);

  messaging::Message change(const AlarmChange& change, const WatchState& state);
  // `last`: this monitor says no more, in good order.
  messaging::Message state(const WatchDocument& document, const messaging::PublisherState& sent,
                           bool last);
  // Some ranks in each.
  std::vector<messaging::Message> series(const WatchDocument& document,
                                         const SeriesInterval& interval);

 private:
  Json head();
  std::string subject_of(const std::string& kind) const;

  std::string subject_;
  PublishedJob job_;
  Nanos state_every_;
  uint64_t sequence_ = 0;
};

// What a rank did in an interval, field by field, as it is published and stored.
Json json_of(const WatchedProcess& process, const RankInterval& interval);

}  // namespace heddle::monitor
