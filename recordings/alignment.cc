// See alignment.h.
#include "recordings/alignment.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "events/recording_reader.h"
#include "recordings/manifest.h"

namespace heddle::recordings {
namespace {

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// What the manifest beside the files holds, where it knows them all. One that cannot be used is a
// warning.
std::optional<Alignment> kept_alignment(const std::vector<std::string>& files,
                                        std::string& warning) {
  if (files.empty()) return std::nullopt;
  const auto path = std::filesystem::path(files.front()).parent_path() / kManifestName;
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return std::nullopt;
  Result<Alignment> kept = read_manifest(path.string());
  if (!kept) {
    warning = kept.error().message() + "; the clocks are aligned again";
    return std::nullopt;
  }
  const bool all = std::all_of(files.begin(), files.end(), [&kept](const std::string& file) {
    return kept->clock(file) != nullptr;
  });
  return all ? std::optional(std::move(*kept)) : std::nullopt;
}

}  // namespace

const insight::Clock* Alignment::clock(const std::string& file) const {
  const auto found = clock_of.find(name_of_file(file));
  return found == clock_of.end() ? nullptr : &clocks.clocks[found->second];
}

int64_t Alignment::to_job(const std::string& file, int64_t ns) const {
  const insight::Clock* const known = clock(file);
  return known == nullptr ? ns : known->to_job(ns);
}

AlignmentBuilder::AlignmentBuilder(const std::vector<std::string>& files)
    : kept_(kept_alignment(files, warning_)) {
  if (!kept_) begin(files);
}

void AlignmentBuilder::begin(const std::vector<std::string>& files) {
  files_ = files;
  for (const std::string& file : files) {
    const auto facts = events::RecordingReader::facts_of(file);
    process_of_.push_back(
        facts ? std::optional(builder_.add_process(facts->identity, facts->first_offset_ns))
              : std::nullopt);
  }
}

Alignment AlignmentBuilder::finish() const {
  if (kept_) return *kept_;
  Alignment made;
  made.warning = warning_;
  made.clocks = builder_.finish();
  for (size_t i = 0; i < files_.size(); ++i) {
    if (!process_of_[i]) continue;
    made.clock_of[name_of_file(files_[i])] = made.clocks.of_process[*process_of_[i]];
  }
  return made;
}

Alignment align_files(const std::vector<std::string>& files) {
  AlignmentBuilder builder;
  builder.begin(files);
  for (size_t i = 0; i < files.size() && builder.needs_events(); ++i) {
    auto reader = events::RecordingReader::open(files[i]);
    events::RecordedEvent recorded;
    while (reader && reader->next(recorded)) builder.add(i, recorded.event);
  }
  return builder.finish();
}

Alignment alignment_of(const std::vector<std::string>& files) {
  std::string warning;
  if (std::optional<Alignment> kept = kept_alignment(files, warning)) return std::move(*kept);
  Alignment made = align_files(files);
  made.warning = std::move(warning);
  return made;
}

}  // namespace heddle::recordings
