// See state.h.
#include "lab/state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/document.h"
#include "base/hash.h"
#include "topology/file.h"

namespace heddle::lab {
namespace {

constexpr int kStateVersion = 1;

std::string text_of(const LabState& state) {
  const nlohmann::ordered_json document = {{"version", kStateVersion},
                                           {"name", state.name},
                                           {"source", state.source},
                                           {"owner", state.owner},
                                           {"owner_start", state.owner_start},
                                           {"reorder", state.reorder},
                                           {"notes", state.notes},
                                           {"delays", delay_method_name(state.delays)},
                                           {"forwarder", state.forwarder},
                                           {"forwarder_start", state.forwarder_start}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

DelayMethod method_of(const std::string& name) {
  for (const DelayMethod method : {DelayMethod::kNetem, DelayMethod::kForwarder}) {
    if (name == delay_method_name(method)) return method;
  }
  return DelayMethod::kNone;
}

}  // namespace

// Atomic: a reader sees the old content or the new, never a part.
Result<void> write_state_file(const std::string& path, const std::string& content) {
  const std::string next = path + ".new";
  {
    std::ofstream file(next, std::ios::binary | std::ios::trunc);
    file << content;
  }
  std::ifstream check(next, std::ios::binary);
  if (!check || rename(next.c_str(), path.c_str()) != 0) {
    return fail(ErrorCode::kSystem, "cannot write " + path, std::strerror(errno),
                "see whether /run has room and is writable");
  }
  return {};
}

std::string labs_folder() { return "/run/heddle/labs"; }

std::string lab_folder(const std::string& name) { return labs_folder() + "/" + name; }

Result<void> check_lab_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 32 &&
                    std::all_of(name.begin(), name.end(), [](unsigned char letter) {
                      return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
                    });
  if (good) return {};
  return fail(ErrorCode::kInvalid, fmt::format("cannot call a lab '{}'", name),
              "a lab's name has 1 to 32 letters, digits, '-' and '_'", "give another with --lab");
}

// One file for all labs; each name locks one byte of it, so no file remains for each name.
Result<NameLock> NameLock::take(const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(labs_folder(), error);
  const std::string path = labs_folder() + "/.lock";
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(hash_text(name) >> 2);
  byte.l_len = 1;
  int locked = -1;
  do {
    locked = file.valid() ? fcntl(file.number(), F_OFD_SETLKW, &byte) : -1;
  } while (locked != 0 && file.valid() && errno == EINTR);
  if (locked == 0) return NameLock(std::move(file));
  const bool refused = errno == EACCES || errno == EPERM || errno == ENOENT || errno == EROFS;
  return fail(refused ? ErrorCode::kPermission : ErrorCode::kSystem,
              fmt::format("cannot lock the name of the lab '{}' ({})", name, path),
              std::strerror(errno), "run it as root, or use `heddle lab run`");
}

Result<void> create_state(const LabState& state, const std::string& topology_text,
                          const std::string& hosts) {
  std::error_code error;
  std::filesystem::create_directories(labs_folder(), error);
  if (mkdir(lab_folder(state.name).c_str(), 0755) != 0) {
    if (errno == EEXIST) {
      return fail(ErrorCode::kInUse, fmt::format("cannot make the lab '{}'", state.name),
                  "there is one of that name",
                  "give another --lab, or run: heddle lab down " + state.name);
    }
    return fail(ErrorCode::kPermission, fmt::format("cannot make {}", lab_folder(state.name)),
                std::strerror(errno), "run it as root, or use `heddle lab run`");
  }
  const std::string folder = lab_folder(state.name);
  if (Result<void> saved = save_state(state); !saved) return saved;
  if (Result<void> done = write_state_file(folder + "/topology.toml", topology_text); !done)
    return done;
  return write_state_file(folder + "/hosts", hosts);
}

Result<void> save_state(const LabState& state) {
  return write_state_file(lab_folder(state.name) + "/lab.json", text_of(state));
}

Result<LabState> load_state(const std::string& name) {
  const Result<std::string> text = read_text_file(lab_folder(name) + "/lab.json",
                                                  "see `heddle lab list` for the labs that are up");
  if (!text) {
    return fail(ErrorCode::kUnavailable, fmt::format("there is no lab '{}'", name),
                text.error().why, text.error().todo);
  }
  LabState state;
  try {
    const nlohmann::json document = nlohmann::json::parse(*text);
    if (document.at("version") != kStateVersion) {
      return fail(ErrorCode::kVersion, fmt::format("cannot use the lab '{}'", name),
                  "another version of heddle made it", "take it down with that version");
    }
    state.name = name;
    state.source = document.at("source").get<std::string>();
    state.owner = document.at("owner").get<pid_t>();
    state.owner_start = document.at("owner_start").get<uint64_t>();
    state.reorder = document.at("reorder").get<bool>();
    state.notes = document.at("notes").get<std::vector<std::string>>();
    state.delays = method_of(document.value("delays", ""));
    state.forwarder = document.value("forwarder", pid_t{0});
    state.forwarder_start = document.value("forwarder_start", uint64_t{0});
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot read the state of the lab '{}'", name),
                error.what(), "run: heddle lab down " + name);
  }
  return state;
}

void remove_state(const std::string& name) {
  std::error_code error;
  std::filesystem::remove_all(lab_folder(name), error);
}

LabStatus status_of(const LabState& state) {
  if (state.owner == 0) return LabStatus::kUp;
  const uint64_t start = process_start(state.owner);
  return start != 0 && start == state.owner_start ? LabStatus::kRunning : LabStatus::kLeftOver;
}

std::string forwarder_trouble(const LabState& state) {
  if (state.forwarder == 0) return "";
  const uint64_t start = process_start(state.forwarder);
  if (start != 0 && start == state.forwarder_start) return "";
  return fmt::format(
      "the forwarder of delayed links (process {}) has ended: they carry nothing until the lab is "
      "taken down and up again",
      state.forwarder);
}

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(labs_folder(), error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Layout> load_layout(const std::string& name) {
  Result<topology::Topology> topology =
      topology::read_topology_file(lab_folder(name) + "/topology.toml");
  if (!topology) return fail(std::move(topology).error());
  return make_layout(name, std::move(*topology));
}

uint64_t process_start(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may contain any character
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i < 22; ++i) {
    fields >> field;
    if (i == 3 && field == "Z") return 0;
  }
  uint64_t start = 0;
  fields >> start;
  return start;
}

}  // namespace heddle::lab
