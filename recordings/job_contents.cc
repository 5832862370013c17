// See job_contents.h.
#include "recordings/job_contents.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace heddle::recordings {
namespace {

void find_missing(JobContents& job) {
  std::map<uint64_t, std::pair<uint32_t, std::set<uint32_t>>> members;  // size, and who is there
  for (const RecordingSummary& file : job.files) {
    for (const events::CommunicatorMade& made : file.memberships) {
      members[made.communicator].first = made.size;
      members[made.communicator].second.insert(made.rank);
    }
  }
  const std::pair<uint32_t, std::set<uint32_t>>* largest = nullptr;
  for (const auto& [number, each] : members) {
    if (largest == nullptr || each.first > largest->first) largest = &each;
  }
  if (largest == nullptr) return;
  job.ranks = largest->first;
  // A damaged file may claim any size.
  for (uint32_t rank = 0; rank < job.ranks && job.ranks_missing.size() < 65'536; ++rank) {
    if (largest->second.count(rank) == 0) job.ranks_missing.push_back(rank);
  }
}

}  // namespace

bool JobContents::sound() const {
  return unreadable.empty() && std::all_of(files.begin(), files.end(),
                                           [](const RecordingSummary& file) { return file.sound; });
}

uint64_t JobContents::events() const {
  uint64_t sum = 0;
  for (const RecordingSummary& file : files) sum += file.events();
  return sum;
}

uint64_t JobContents::missing_events() const {
  uint64_t sum = 0;
  for (const RecordingSummary& file : files) sum += file.missing_events();
  return sum;
}

uint64_t JobContents::dropped_events() const {
  uint64_t sum = 0;
  for (const RecordingSummary& file : files) sum += file.facts.dropped_events;
  return sum;
}

uint64_t JobContents::not_ended() const {
  return static_cast<uint64_t>(std::count_if(
      files.begin(), files.end(), [](const RecordingSummary& file) { return !file.facts.closed; }));
}

JobContents contents_of(const std::vector<std::string>& files) {
  JobContents job;
  job.alignment = alignment_of(files);
  std::set<std::string> hosts;
  for (const std::string& file : files) {
    auto summary = summarize_recording(file);
    if (!summary) {
      job.unreadable.push_back(summary.error().message());
      continue;
    }
    hosts.insert(summary->identity("host"));
    job.files.push_back(std::move(*summary));
  }
  job.hosts.assign(hosts.begin(), hosts.end());
  find_missing(job);
  return job;
}

}  // namespace heddle::recordings
