// See job_contents.h.
#include "apps/cli/record/job_contents.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apps/cli/output.h"

namespace heddle::cli {
namespace {

constexpr size_t kMostListed = 8;

std::string list_of(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i) {
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
  }
  return ranks.size() > kMostListed ? text + ", ..." : text;
}

const char* plural(uint64_t count) { return count == 1 ? "" : "s"; }

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

JobContents contents_of(const std::vector<std::string>& files, Alignment alignment) {
  JobContents job;
  job.alignment = std::move(alignment);
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

Json to_json(const JobContents& job) {
  Json rows = Json::array();
  for (const RecordingSummary& file : job.files) rows.push_back(to_json(file));
  Json document = {{"recordings", rows},
                   {"unreadable", job.unreadable},
                   {"hosts", job.hosts},
                   {"ranks", job.ranks},
                   {"ranks_missing", job.ranks_missing},
                   {"events", job.events()},
                   {"dropped_events", job.dropped_events()},
                   {"missing_events", job.missing_events()},
                   {"not_ended", job.not_ended()},
                   {"sound", job.sound()}};
  const Json alignment = to_json(job.alignment);
  document["clocks"] = alignment.at("clocks");
  document["clock_of_file"] = alignment.at("clock_of_file");
  return document;
}

std::string to_text(const JobContents& job) {
  std::string text = fmt::format("{} recording{} of {} host{}, {} events", job.files.size(),
                                 plural(job.files.size()), job.hosts.size(),
                                 plural(job.hosts.size()), job.events());
  if (job.dropped_events() > 0) text += fmt::format(", {} older dropped", job.dropped_events());
  text += "\n";
  if (job.ranks > 0 && job.ranks_missing.empty()) {
    const bool of_some = job.files.size() > job.ranks;
    text += fmt::format("ranks: all {} are there{}\n", job.ranks,
                        of_some ? " of the largest communicator" : "");
  } else if (job.ranks > 0) {
    text += fmt::format("ranks: {} of {} are there, not {}\n", job.ranks - job.ranks_missing.size(),
                        job.ranks, list_of(job.ranks_missing));
  }
  if (job.not_ended() > 0) {
    text += fmt::format("ends: {} of the processes were killed, or still run\n", job.not_ended());
  }
  const size_t clocks = job.alignment.clocks.clocks.size();
  text += fmt::format("clocks: {}\n", clocks) + to_text(job.alignment.clocks);
  uint64_t damaged = 0;
  for (const RecordingSummary& file : job.files) damaged += file.sound ? 0 : 1;
  if (damaged > 0) {
    text += fmt::format("damaged: {} of the recordings; at least {} events are missing\n", damaged,
                        job.missing_events());
  }
  for (const std::string& why : job.unreadable) text += "not read: " + printable(why) + "\n";
  return text;
}

}  // namespace heddle::cli
