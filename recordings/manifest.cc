// See manifest.h.
#include "recordings/manifest.h"

#include <array>

#include "base/document.h"

namespace heddle::recordings {
namespace {

using insight::Clock;
using insight::ClockBasis;
using Json = nlohmann::ordered_json;

constexpr const char* kTodo = "gather the recording again";
constexpr std::array kBases = {ClockBasis::kReference, ClockBasis::kMessages, ClockBasis::kSameHost,
                               ClockBasis::kWallClock};

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

Result<Alignment> alignment_from(const Json& manifest, const std::string& what) {
  try {
    if (manifest.at("version").get<int>() != kManifestVersion) {
      return fail(ErrorCode::kVersion, what, "it is of another version", kTodo);
    }
    Alignment made;
    for (const Json& row : manifest.at("clocks")) made.clocks.clocks.push_back(clock_from(row));
    for (const auto& [name, clock] : manifest.at("clock_of_file").items()) {
      const auto number = clock.get<uint32_t>();
      if (number >= made.clocks.clocks.size()) {
        return fail(ErrorCode::kInvalid, what, "a file is of a clock that is not there", kTodo);
      }
      made.clock_of[name] = number;
    }
    return made;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kInvalid, what, error.what(), kTodo);
  }
}

}  // namespace

Json to_json(const Alignment& alignment) {
  Json clocks = Json::array();
  for (const Clock& clock : alignment.clocks.clocks) clocks.push_back(clock_json(clock));
  Json files = Json::object();
  for (const auto& [name, clock] : alignment.clock_of) files[name] = clock;
  return {{"version", kManifestVersion}, {"clocks", clocks}, {"clock_of_file", files}};
}

Result<void> write_manifest(const std::string& folder, const Alignment& alignment) {
  const std::string text = to_json(alignment).dump(1, ' ', false, Json::error_handler_t::replace);
  return write_text_file(folder + "/" + kManifestName, text + "\n");
}

Result<Alignment> read_manifest(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kTodo);
  if (!text) return fail(text.error());
  return alignment_from(Json::parse(*text, nullptr, false), "cannot use " + path);
}

}  // namespace heddle::recordings
