// See process_recording.h.
#include "engine/process_recording.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "base/boot_id.h"
#include "base/log.h"
#include "base/own_mutex.h"
#include "base/per_process.h"
#include "engine/node_recording.h"
#include "engine/params.h"

namespace heddle::engine {
namespace {

struct Kept {
  std::weak_ptr<events::Recording> recording;
  events::RecordLevel level = {};
  Bytes most;
  Nanos durable;

  bool fits(const events::RecordingOptions& options) const {
    return level == options.level && most == options.most && durable == options.durable;
  }
};

struct Open {
  OwnMutex mutex;
  std::map<std::string, Kept> by_directory;
};

// One instance per process, shared by endpoints of all threads. A child of fork() gets an empty
// one: it must not write to its parent's blocks.
Open& open_recordings() {
  static constinit PerProcess<Open> open;
  return open.get();
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  words.resize(std::min(words.size(), params::kMostCommandBytes));
  return words;
}

std::string link_target(const char* path) {
  std::array<char, 64> target{};
  return readlink(path, target.data(), target.size() - 1) < 0 ? "" : target.data();
}

// The identity of recording_clock()'s clock: boot id and time namespace, because a namespace may
// offset the clock. Empty where the system reports neither.
std::string own_clock() {
  const std::string boot = boot_id();
  const std::string space = link_target("/proc/self/ns/time");
  return boot.empty() || space.empty() ? "" : boot + " " + space;
}

// The offset of this time namespace relative to the host's clock. Empty if unknown:
// /proc/self/timens_offsets describes the namespace of future children, which may differ.
std::string own_clock_ahead() {
  if (link_target("/proc/self/ns/time") != link_target("/proc/self/ns/time_for_children"))
    return "";
  std::ifstream file("/proc/self/timens_offsets");
  std::string name;
  for (int64_t ahead_s = 0, ahead_ns = 0; file >> name >> ahead_s >> ahead_ns;) {
    if (name == "monotonic") return std::to_string((seconds(ahead_s) + nanos(ahead_ns)).count);
  }
  return "";
}

const char* level_name(events::RecordLevel level) {
  constexpr std::array<const char*, 4> kNames = {"counters", "bins", "messages", "segments"};
  return kNames.at(static_cast<size_t>(level));
}

}  // namespace

std::optional<std::string> launched_rank() {
  for (const char* name : {"HEDDLE_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name); rank != nullptr) return rank;
  }
  return std::nullopt;
}

events::RecordingOptions with_process(events::RecordingOptions options) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const bool has_rank = std::any_of(options.identity.begin(), options.identity.end(),
                                    [](const auto& each) { return each.first == "rank"; });
  options.identity.emplace_back("host", host.data());
  options.identity.emplace_back("pid", std::to_string(getpid()));
  if (const auto rank = launched_rank(); rank && !has_rank) {
    options.identity.emplace_back("rank", *rank);
  }
  if (std::string clock = own_clock(); !clock.empty()) {
    options.identity.emplace_back("clock", std::move(clock));
    if (std::string ahead = own_clock_ahead(); !ahead.empty()) {
      options.identity.emplace_back("clock_ahead_ns", std::move(ahead));
    }
  }
  options.identity.emplace_back("level", level_name(options.level));
  options.identity.emplace_back("command", own_command());
  for (auto& [name, value] : options.identity) std::replace(value.begin(), value.end(), '\n', ' ');
  return options;
}

Result<std::shared_ptr<events::Recording>> open_recording(const events::RecordingOptions& options) {
  if (options.directory.empty()) return std::shared_ptr<events::Recording>();
  Open& open = open_recordings();
  const OwnMutex::Lock lock = open.mutex.lock();
  Kept& kept = open.by_directory[options.directory];
  std::shared_ptr<events::Recording> recording = kept.recording.lock();
  if (recording && !kept.fits(options)) {
    return fail(ErrorCode::kInvalid, "cannot record in " + options.directory,
                std::string("this process records there at level ") + level_name(kept.level) +
                    " already, and level, size or durability differ now",
                "give another folder, or the settings of the first");
  }
  if (!recording) {
    auto made = events::Recording::create(with_process(options));
    if (!made) return fail(made.error());
    recording = std::move(*made);
    // Without it the job is recorded all the same.
    const Result<void> sampled = record_node_beside(*recording, options);
    if (!sampled) log_warn("{}", sampled.error().message());
    kept = {recording, options.level, options.most, options.durable};
  }
  return recording;
}

Result<std::unique_ptr<events::Recorder>> open_recorder(const events::RecordingOptions& options,
                                                        Nanos now,
                                                        const transport::Address& local) {
  auto recording = open_recording(options);
  if (!recording) return fail(recording.error());
  if (*recording == nullptr) return std::unique_ptr<events::Recorder>();
  auto recorder = (*recording)->add_writer();
  recorder->on_any(events::EndpointOpened{now, transport::host_part(local, 0),
                                          transport::host_part(local, 8), local.port});
  return recorder;
}

bool mark(std::string_view name, uint64_t step) {
  Open& open = open_recordings();
  const OwnMutex::Lock lock = open.mutex.lock();
  bool marked = false;
  for (const auto& [directory, each] : open.by_directory) {
    const std::shared_ptr<events::Recording> recording = each.recording.lock();
    if (!recording) continue;
    recording->note(events::Mark{recording_clock(), events::Text(name), step});
    marked = true;
  }
  return marked;
}

Nanos recording_clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}

}  // namespace heddle::engine
