// See live_recording.h.
#include "recordings/live_recording.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "base/clocks.h"
#include "recordings/contents.h"
#include "recordings/many_files.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

namespace fs = std::filesystem;

// Times of a damaged recording may be any.
int64_t difference(int64_t one, int64_t other) {
  return static_cast<int64_t>(static_cast<uint64_t>(one) - static_cast<uint64_t>(other));
}

}  // namespace

LiveRecording::LiveRecording(std::vector<std::string> folders) : folders_(std::move(folders)) {
  allow_many_files();
}

int64_t LiveRecording::at_of(const Source& source, int64_t own_ns) const {
  return difference(source.clock.to_job(own_ns), began_ns_);
}

void LiveRecording::find_files() {
  for (const std::string& folder : folders_) {
    std::error_code error;
    std::vector<std::string> found;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string path = at->path().string();
      if (at->path().extension() == kRecordingSuffix && !known_.contains(path)) {
        found.push_back(path);
      }
    }
    const bool absent = error == std::errc::no_such_file_or_directory;
    if (error && !absent && complained_.insert(folder).second) {
      errors_.push_back({ErrorCode::kUnavailable, "cannot read the recordings in " + folder,
                         error.message(), "give the folder that was named to `heddle record -o`"});
    }
    if (!error) complained_.erase(folder);
    std::sort(found.begin(), found.end());
    for (const std::string& path : found) add_file(path);
  }
}

// A file whose process has just begun has no header yet: the next poll tries again.
void LiveRecording::add_file(const std::string& path) {
  auto reader = events::RecordingReader::open(path);
  if (!reader) {
    std::error_code gone;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, gone);
    const bool early =
        reader.error().code == ErrorCode::kInvalid && age < params::live::kHeaderWithin;
    if (!gone && !early && complained_.insert(path).second) errors_.push_back(reader.error());
    return;
  }
  known_.insert(path);
  complained_.erase(path);
  const events::RecordingFacts& facts = reader->facts();
  clocks_.add_process(facts.identity, facts.first_offset_ns);
  sources_.push_back({path, std::move(*reader), {}, {}});
}

// Of a job that has run for a while, so that its first events are not placed by wall clocks.
void LiveRecording::sample_messages() {
  if (!clocks_.needs_events()) return;
  for (size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (std::exchange(source.sampled, true)) continue;
    auto reader = events::RecordingReader::open(source.path);
    events::RecordedEvent recorded;
    while (reader && reader->next(recorded)) {
      clocks_.add(static_cast<uint32_t>(i), recorded.event);
      source.sampled_until_ns =
          std::visit([](const auto& each) { return each.time.count; }, recorded.event);
    }
  }
}

void LiveRecording::align(Nanos now) {
  const bool fresh = aligned_files_ < sources_.size();
  const bool rough = std::any_of(sources_.begin(), sources_.end(), [](const Source& each) {
    return each.clock.basis == insight::ClockBasis::kWallClock;
  });
  const bool better =
      clocks_.needs_events() &&
      now - aligned_at_ >= (rough ? params::live::kAlignFirst : params::live::kAlignEvery);
  if (!fresh && !better) return;
  const insight::Clocks clocks = clocks_.finish();
  for (size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].clock = clocks.clocks[clocks.of_process[i]];
  }
  if (began_ns_ == INT64_MAX) {
    for (const Source& source : sources_) {
      const events::RecordingFacts& facts = source.reader.facts();
      const int64_t started = difference(facts.started_realtime_ns, facts.first_offset_ns);
      began_ns_ = std::min(began_ns_, source.clock.to_job(started));
    }
  }
  for (size_t i = aligned_files_; i < sources_.size(); ++i) {
    const events::RecordingFacts& facts = sources_[i].reader.facts();
    if (facts.dropped_events == 0) continue;
    whole_from_ns_ = std::max(whole_from_ns_, at_of(sources_[i], facts.kept_from_ns));
  }
  aligned_files_ = sources_.size();
  aligned_at_ = now;
}

void LiveRecording::queue(size_t source) {
  Source& from = sources_[source];
  if (!from.reader.next(from.event)) return;
  const int64_t own =
      std::visit([](const auto& each) { return each.time.count; }, from.event.event);
  turns_.emplace(at_of(from, own), source);
}

void LiveRecording::hand_on(Source& source, size_t file, int64_t at, const Take& take) {
  const int64_t own =
      std::visit([](const auto& each) { return each.time.count; }, source.event.event);
  if (clocks_.needs_events() && own > source.sampled_until_ns) {
    clocks_.add(static_cast<uint32_t>(file), source.event.event);
  }
  const int64_t ahead = difference(at, difference(polled_at_ns_, began_ns_));
  if (ahead <= params::live::kMostAhead.count) {
    source.last_at_ns = at;
    take(file, source.event, at);
  } else if (!std::exchange(source.ahead, true)) {
    errors_.push_back({ErrorCode::kInvalid, "cannot use events of " + source.path,
                       "its clock is ahead by " + std::to_string(ahead / seconds(1).count) + " s",
                       "set the clocks of all hosts by NTP or PTP"});
  }
}

void LiveRecording::poll(Nanos now, const Take& take) {
  const size_t before = sources_.size();
  polled_at_ns_ = wall_now().count;
  for (Source& source : sources_) source.reader.refresh();
  find_files();
  if (sources_.empty()) return;
  sample_messages();
  align(now);
  for (size_t i = 0; i < sources_.size(); ++i) queue(i);
  while (!turns_.empty()) {
    const auto [at, file] = turns_.top();
    turns_.pop();
    hand_on(sources_[file], file, at, take);
    queue(file);
  }
  for (size_t i = 0; i < before; ++i) {
    Source& source = sources_[i];
    const uint64_t missed = source.reader.missed_events();
    // Nothing after the beginning of what is left is lost; what was overwritten while it was read
    // is found by the next poll.
    if (missed > source.missed) {
      whole_from_ns_ = std::max(whole_from_ns_, at_of(source, source.reader.facts().kept_from_ns));
    }
    source.missed = std::max(source.missed, missed);
  }
}

}  // namespace heddle::recordings
