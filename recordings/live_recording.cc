// See live_recording.h.
#include "recordings/live_recording.h"

#include <algorithm>
#include <filesystem>
#include <variant>

#include "recordings/contents.h"

namespace heddle::recordings {
namespace {

namespace fs = std::filesystem;

// Messages improve what is known of several clocks; each estimate looks at all samples. Chosen.
constexpr Nanos kAlignEvery = seconds(5);

// Times of a damaged recording may be any.
int64_t difference(int64_t one, int64_t other) {
  return static_cast<int64_t>(static_cast<uint64_t>(one) - static_cast<uint64_t>(other));
}

}  // namespace

LiveRecording::LiveRecording(std::vector<std::string> folders) : folders_(std::move(folders)) {}

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
    std::sort(found.begin(), found.end());
    for (const std::string& path : found) add_file(path);
  }
}

// A file whose process has just begun has no header yet: the next poll tries again.
void LiveRecording::add_file(const std::string& path) {
  auto reader = events::RecordingReader::open(path);
  if (!reader) {
    if (complained_.contains(path)) return;
    std::error_code gone;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, gone);
    if (gone || age < kAlignEvery.count * std::chrono::nanoseconds(1)) return;
    complained_.insert(path);
    errors_.push_back(reader.error());
    return;
  }
  known_.insert(path);
  const events::RecordingFacts& facts = reader->facts();
  clocks_.add_process(facts.identity, facts.first_offset_ns);
  sources_.push_back({path, std::move(*reader), {}, {}, 0, 0});
}

void LiveRecording::align(Nanos now) {
  const bool fresh = aligned_files_ < sources_.size();
  const bool better = clocks_.needs_events() && now - aligned_at_ >= kAlignEvery;
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

void LiveRecording::poll(Nanos now, const Take& take) {
  const size_t before = sources_.size();
  for (Source& source : sources_) source.reader.refresh();
  find_files();
  if (sources_.empty()) return;
  align(now);
  for (size_t i = 0; i < sources_.size(); ++i) queue(i);
  while (!turns_.empty()) {
    const auto [at, file] = turns_.top();
    turns_.pop();
    Source& source = sources_[file];
    if (clocks_.needs_events()) clocks_.add(static_cast<uint32_t>(file), source.event.event);
    source.last_at_ns = at;
    take(file, source.event.event, at);
    queue(file);
  }
  for (size_t i = 0; i < before; ++i) {
    Source& source = sources_[i];
    const uint64_t missed = source.reader.missed_events();
    if (missed > source.missed) whole_from_ns_ = std::max(whole_from_ns_, source.last_at_ns);
    source.missed = std::max(source.missed, missed);
  }
}

}  // namespace heddle::recordings
