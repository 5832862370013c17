// See merged_reader.h.
#include "recordings/merged_reader.h"

#include <algorithm>

#include "recordings/alignment.h"
#include "recordings/many_files.h"

namespace heddle::recordings {
namespace {

// Times of a damaged recording may be any.
int64_t difference(int64_t one, int64_t other) {
  return static_cast<int64_t>(static_cast<uint64_t>(one) - static_cast<uint64_t>(other));
}

}  // namespace

bool MergedReader::open(const std::vector<std::string>& files) {
  allow_many_files();
  const Alignment alignment = alignment_of(files);
  if (!alignment.warning.empty()) warnings_.push_back(alignment.warning);
  for (const std::string& file : files) {
    auto reader = events::RecordingReader::open(file);
    if (!reader) {
      unreadable_.push_back(reader.error());
      continue;
    }
    const events::RecordingFacts& facts = reader->facts();
    insight::Clock clock;
    clock.offset_from_ns = clock.offset_to_ns = facts.first_offset_ns;
    if (const insight::Clock* known = alignment.clock(file); known != nullptr) clock = *known;
    const int64_t started = difference(facts.started_realtime_ns, facts.first_offset_ns);
    began_ns_ = std::min(began_ns_, clock.to_job(started));
    sources_.push_back({file, std::move(*reader), clock, {}, 0});
  }
  for (size_t i = 0; i < sources_.size(); ++i) queue(i);
  return !sources_.empty();
}

void MergedReader::queue(size_t source) {
  Source& from = sources_[source];
  if (!from.reader.next(from.event)) {
    if (!from.reader.sound()) {
      warnings_.push_back(from.file + " is damaged: what could be read is there");
    }
    return;
  }
  const int64_t time =
      std::visit([](const auto& each) { return each.time.count; }, from.event.event);
  from.at_ns = difference(from.clock.to_job(time), began_ns_);
  turns_.emplace(from.at_ns, source);
}

bool MergedReader::next(size_t& file, events::RecordedEvent& event, int64_t& at_ns) {
  if (turns_.empty()) return false;
  file = turns_.top().second;
  turns_.pop();
  event = std::move(sources_[file].event);
  at_ns = sources_[file].at_ns;
  queue(file);
  return true;
}

bool MergedReader::whole() const {
  return unreadable_.empty() && std::all_of(sources_.begin(), sources_.end(),
                                            [](const Source& each) { return each.reader.sound(); });
}

}  // namespace heddle::recordings
