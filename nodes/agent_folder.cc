// See agent_folder.h. A recording is made in a folder of drafts and renamed when it is one, so that
// readers see one name, with its time.
#include "nodes/agent_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "events/recording_directory.h"
#include "events/recording_reader.h"
#include "nodes/node_recorder.h"
#include "nodes/params.h"

namespace heddle::nodes {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "agent.";
constexpr std::string_view kSuffix = ".heddle";
constexpr const char* kDrafts = ".drafts";

Unexpected not_own(const std::string& path, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot record in " + path, why,
              "choose a folder of your own with --state, in which no other user may write");
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& identity,
                     std::string_view name) {
  for (const auto& [key, value] : identity) {
    if (key == name) return value;
  }
  return {};
}

// "agent.HOST.": a host's name in that of a file.
std::string prefix_of(std::string host) {
  std::replace(host.begin(), host.end(), '/', '_');
  return std::string(kPrefix) + host + ".";
}

uint64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// Of "agent.HOST.MILLISECONDS.heddle"; nothing: it is no such name.
std::optional<uint64_t> began_of(std::string_view name, const std::string& prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return std::nullopt;
  if (name.size() <= prefix.size() + kSuffix.size()) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(kSuffix.size());
  uint64_t began = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), began);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole ? std::optional(began) : std::nullopt;
}

bool is_node_of(const std::string& path, const std::string& host) {
  const auto facts = events::RecordingReader::facts_of(path);
  return facts && value_of(facts->identity, kKindOfIdentity) == kNodeKind &&
         value_of(facts->identity, "host") == host;
}

}  // namespace

Result<AgentFolder> AgentFolder::open(const std::string& path, bool with_parents) {
  const fs::path parent = fs::path(path).parent_path();
  std::error_code failed;
  if (with_parents && !parent.empty()) fs::create_directories(parent, failed);
  if (failed) return events::cannot_record(path, failed.value());
  constexpr mode_t kMembersRead = S_IRWXU | S_IRGRP | S_IXGRP;
  if (mkdir(path.c_str(), kMembersRead) != 0 && errno != EEXIST) {
    return events::cannot_record(path, errno);
  }
  constexpr int kHow = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor folder(::open(path.c_str(), kHow));
  struct stat about {};
  if (!folder.valid() || fstat(folder.number(), &about) != 0) {
    const int error = errno;
    if (error == ELOOP || fs::is_symlink(path, failed)) return not_own(path, "it is a link");
    return events::cannot_record(path, error);
  }
  if (about.st_uid != geteuid() && about.st_uid != 0) {
    return not_own(path, "it belongs to another user");
  }
  if ((about.st_mode & S_IWOTH) != 0) return not_own(path, "all users may write in it");
  return AgentFolder(path, std::move(folder));
}

std::vector<AgentFolder::Kept> AgentFolder::kept(const std::string& host) const {
  const std::string prefix = prefix_of(host);
  std::vector<Kept> made;
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto began = began_of(name, prefix);
    struct stat about {};
    if (!began || fstatat(folder_.number(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (!S_ISREG(about.st_mode) || !is_node_of(path_ + "/" + name, host)) continue;
    constexpr uint64_t kStatBytes = 512;  // unit of st_blocks, of stat(2)
    made.push_back({*began, name, static_cast<uint64_t>(about.st_blocks) * kStatBytes});
  }
  std::sort(made.begin(), made.end(),
            [](const Kept& a, const Kept& b) { return a.began_ms < b.began_ms; });
  return made;
}

bool AgentFolder::remove(const Kept& one) const {
  return unlinkat(folder_.number(), one.name.c_str(), 0) == 0;
}

Result<void> AgentFolder::publish(const std::string& draft, const std::string& host) const {
  const std::string from = std::string(kDrafts) + "/" + draft;
  // Monitors of jobs read it as the users of the jobs, who are in the folder's group.
  const Descriptor file(openat(folder_.number(), from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid() || fchmod(file.number(), S_IRUSR | S_IWUSR | S_IRGRP) != 0) {
    return events::cannot_record(path_, errno);
  }
  // One agent makes names in this folder, so a free one stays free.
  uint64_t began = now_ms();
  std::string name;
  struct stat about {};
  do {
    name = prefix_of(host) + std::to_string(began++) + std::string(kSuffix);
  } while (fstatat(folder_.number(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0);
  if (renameat(folder_.number(), from.c_str(), folder_.number(), name.c_str()) == 0) return {};
  return events::cannot_record(path_, errno);
}

Result<std::shared_ptr<events::Recording>> AgentFolder::begin(events::RecordingOptions options,
                                                              Bytes most) {
  const std::string host = value_of(options.identity, "host");
  const std::string drafts = path_ + "/" + kDrafts;
  std::error_code ignored;
  fs::remove_all(drafts, ignored);  // of an agent that was killed
  std::vector<Kept> old = kept(host);
  uint64_t used = options.most.count + params::kRecordingHeader.count;
  for (const Kept& each : old) used += each.disk_bytes;
  const auto drop_oldest = [&] {
    if (old.empty() || !remove(old.front())) return false;
    used -= old.front().disk_bytes;
    old.erase(old.begin());
    return true;
  };
  while (used > most.count || old.size() >= params::kMostAgentRecordings) {
    if (!drop_oldest()) break;
  }
  options.directory = drafts;
  auto made = events::Recording::create(options);
  // On a full disk the old ones make room, one after the other.
  while (!made && made.error().code == ErrorCode::kExhausted && drop_oldest()) {
    made = events::Recording::create(options);
  }
  Result<void> published =
      made ? publish(fs::path((*made)->path()).filename().string(), host) : Result<void>();
  fs::remove_all(drafts, ignored);
  if (!published) return fail(published.error());
  return made;
}

}  // namespace heddle::nodes
