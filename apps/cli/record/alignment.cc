// See alignment.h.
#include "apps/cli/record/alignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "apps/cli/output.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "events/recording_reader.h"

namespace heddle::cli {
namespace {

using insight::Clock;
using insight::ClockBasis;

constexpr std::array kBases = {ClockBasis::kReference, ClockBasis::kMessages, ClockBasis::kSameHost,
                               ClockBasis::kWallClock};

constexpr size_t kMostClocksReported = 8;

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string duration(int64_t ns) {
  const double value = std::abs(static_cast<double>(ns));
  if (value < 1e6) return fmt::format("{:.1f} us", value / 1e3);
  return value < 1e9 ? fmt::format("{:.3f} ms", value / 1e6) : fmt::format("{:.6f} s", value / 1e9);
}

Result<Alignment> read_manifest(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "gather the recording again");
  if (!text) return fail(text.error());
  const Json document = Json::parse(*text, nullptr, false);
  Result<Alignment> read = alignment_from(document);
  if (read) return read;
  Error error = read.error();
  error.what = "cannot use " + path;
  return fail(error);
}

Json clock_json(const Clock& clock) {
  return {{"name", clock.name},
          {"basis", name_of(clock.basis)},
          {"from_ns", clock.from_ns},
          {"to_ns", clock.to_ns},
          {"offset_from_ns", clock.offset_from_ns},
          {"offset_to_ns", clock.offset_to_ns},
          {"error_ns", clock.error_ns},
          {"drift_ppm", clock.drift_ppm()},
          {"drift_error_ppm", clock.drift_error_ppm()},
          {"messages", clock.messages},
          {"wall_clock_ahead_ns", clock.wall_ahead_ns}};
}

Clock clock_from(const Json& row) {
  Clock clock;
  clock.name = row.at("name").get<std::string>();
  const auto basis = row.at("basis").get<std::string>();
  for (const ClockBasis each : kBases) {
    if (basis == name_of(each)) clock.basis = each;
  }
  clock.from_ns = row.at("from_ns").get<int64_t>();
  clock.to_ns = row.at("to_ns").get<int64_t>();
  clock.offset_from_ns = row.at("offset_from_ns").get<int64_t>();
  clock.offset_to_ns = row.at("offset_to_ns").get<int64_t>();
  clock.error_ns = row.at("error_ns").get<int64_t>();
  clock.messages = row.at("messages").get<uint64_t>();
  clock.wall_ahead_ns = row.at("wall_clock_ahead_ns").get<int64_t>();
  return clock;
}

std::string line_of(const Clock& clock, const std::string& first) {
  const std::string name = printable(clock.name);
  if (clock.basis == ClockBasis::kWallClock) {
    return fmt::format(
        "  {}: against {} by the wall clocks only, nobody knows how well they agree{}\n", name,
        first, clock.messages == 0 ? ", since no message between them was recorded" : "");
  }
  if (clock.basis == ClockBasis::kSameHost) {
    return fmt::format("  {}: against {} exactly, they are of one host\n", name, first);
  }
  return fmt::format(
      "  {}: against {} known to {} by {} messages, drift {:+.1f} ppm known to {:.1f}; its wall "
      "clock is {} {}\n",
      name, first, duration(clock.error_ns), clock.messages, clock.drift_ppm(),
      clock.drift_error_ppm(), duration(clock.wall_ahead_ns),
      clock.wall_ahead_ns < 0 ? "behind" : "ahead");
}

// What the manifest beside the files says, where it knows them all.
std::optional<Alignment> kept_alignment(const std::vector<std::string>& files) {
  if (files.empty()) return std::nullopt;
  const auto path = std::filesystem::path(files.front()).parent_path() / kManifestName;
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return std::nullopt;
  Result<Alignment> kept = read_manifest(path.string());
  if (!kept) {
    print_warning(kept.error().message() + "; the clocks are aligned again");
    return std::nullopt;
  }
  const bool all = std::all_of(files.begin(), files.end(), [&kept](const std::string& file) {
    return kept->clock(file) != nullptr;
  });
  return all ? std::optional(std::move(*kept)) : std::nullopt;
}

}  // namespace

const Clock* Alignment::clock(const std::string& file) const {
  const auto found = clock_of.find(name_of_file(file));
  return found == clock_of.end() ? nullptr : &clocks.clocks[found->second];
}

int64_t Alignment::to_job(const std::string& file, int64_t ns) const {
  const Clock* const known = clock(file);
  return known == nullptr ? ns : known->to_job(ns);
}

AlignmentBuilder::AlignmentBuilder(const std::vector<std::string>& files)
    : kept_(kept_alignment(files)) {
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
  std::optional<Alignment> kept = kept_alignment(files);
  return kept ? std::move(*kept) : align_files(files);
}

Json to_json(const Alignment& alignment) {
  Json clocks = Json::array();
  for (const Clock& clock : alignment.clocks.clocks) clocks.push_back(clock_json(clock));
  Json files = Json::object();
  for (const auto& [name, clock] : alignment.clock_of) files[name] = clock;
  return {{"version", kManifestVersion}, {"clocks", clocks}, {"clock_of_file", files}};
}

Result<Alignment> alignment_from(const Json& manifest) {
  const char* const todo = "gather the recording again";
  try {
    if (manifest.at("version").get<int>() != kManifestVersion) {
      return fail(ErrorCode::kVersion, "cannot use the manifest", "it is of another version", todo);
    }
    Alignment made;
    for (const Json& row : manifest.at("clocks")) made.clocks.clocks.push_back(clock_from(row));
    for (const auto& [name, clock] : manifest.at("clock_of_file").items()) {
      const auto number = clock.get<uint32_t>();
      if (number >= made.clocks.clocks.size()) {
        return fail(ErrorCode::kInvalid, "cannot use the manifest",
                    "a file is of a clock that is not there", todo);
      }
      made.clock_of[name] = number;
    }
    return made;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kInvalid, "cannot use the manifest", error.what(), todo);
  }
}

std::string to_text(const insight::Clocks& clocks) {
  // The least certain clocks come first, and at most kMostClocksReported are printed.
  std::vector<const Clock*> order;
  for (const Clock& clock : clocks.clocks) {
    if (clock.basis != ClockBasis::kReference) order.push_back(&clock);
  }
  const auto unsure = [](const Clock* clock) { return static_cast<uint64_t>(clock->error_ns); };
  if (order.size() > kMostClocksReported) {
    std::stable_sort(order.begin(), order.end(),
                     [&unsure](const Clock* a, const Clock* b) { return unsure(a) > unsure(b); });
  }
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), kMostClocksReported); ++i) {
    text += line_of(*order[i], printable(clocks.clocks.front().name));
  }
  if (order.size() <= kMostClocksReported) return text;
  return text + fmt::format("  ... and {} more, all better known; see --json\n",
                            order.size() - kMostClocksReported);
}

}  // namespace heddle::cli
