// Publication: what is published of a watched job, for programs and for `heddle monitor --site`:
// each change of its faults, its state at intervals, and series of its ranks. A pure function of
// what it is given; messaging/ carries the result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "messaging/publisher.h"
#include "monitor/documents.h"
#include "monitor/rank_series.h"

namespace heddle::monitor {

// The version of what is published.
inline constexpr int64_t kPublicationVersion = 1;

struct PublishedJob {
  std::string name;                     // for people, and in subjects
  std::string host;                     // of its monitor
  std::string folder;                   // of its recordings, a whole path
  std::vector<std::string> hosts = {};  // that it runs on, where these are others
  int64_t run_ns = 0;      // when this monitor began, since 1970: another one after it has more
  Nanos every = {};        // time between its states
  std::string id() const;  // of host, folder, name and hosts: 16 hexadecimal digits
};

// A whole path without "." and "..", and without a slash at its end, whether or not there is such a
// folder yet. Not `here`: of other machines, where a path that does not begin with "/" stays so.
std::string whole_folder(const std::string& folder, bool here = true);

// SUBJECT.JOB.ID.change, .state, and .series.FIRST, by the first process in it.
class Publication {
 public:
  Publication(std::string subject, PublishedJob job);

  messaging::Message change(const AlarmChange& change, const WatchState& state);
  // `last`: this monitor says no more, in good order.
  messaging::Message state(const WatchDocument& document, const messaging::PublisherState& sent,
                           bool last);
  // Some ranks in each.
  std::vector<messaging::Message> series(const WatchDocument& document,
                                         const SeriesInterval& interval);

 private:
  Json head();
  std::string subject_of(std::string_view kind) const;

  std::string subject_;
  PublishedJob job_;
  uint64_t sequence_ = 0;
};

// The part of a message's subject behind that of the site: "JOB.ID.KIND".
std::string published_subject(const std::string& job, const std::string& id, std::string_view kind);

// What a rank did in an interval, field by field, as it is published and stored.
Json json_of(const WatchedProcess& process, const RankInterval& interval);

}  // namespace heddle::monitor
