// Tables of costs on disk: see table_file.h. Lines of text: a heading, the fabric, the costs, and a
// hash of all lines before it, which a file that was cut short lacks.
#include "collectives/table_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/descriptor.h"
#include "base/hash.h"
#include "base/version.h"
#include "base/write_all.h"
#include "collectives/params.h"
#include "collectives/shared_memory/host_identity.h"
#include "engine/addresses.h"
#include "engine/cores.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

constexpr std::string_view kHeading = "heddle costs 2";

Unexpected cannot(const std::string& what, const std::string& path, int error) {
  const ErrorCode code = error == EACCES || error == EPERM || error == EROFS
                             ? ErrorCode::kPermission
                         : error == ENOENT || error == ENOTDIR ? ErrorCode::kUnavailable
                                                               : ErrorCode::kSystem;
  return fail(code, fmt::format("cannot {} the table of costs '{}'", what, path),
              std::strerror(error), "set tuning_folder to a folder of your own");
}

Unexpected refused(const std::string& path, ErrorCode code, const std::string& why) {
  return fail(code, fmt::format("cannot use the table of costs '{}'", path), why,
              "remove it; `heddle tune` makes another");
}

// "4 ranks on 2 hosts: 0 0 1 1", hosts in the order in which ranks name them.
std::string placement(const Members& members) {
  std::map<decltype(transport::Address::host), size_t> hosts;
  std::string text;
  for (const transport::Address& each : members.addresses) {
    text += fmt::format(" {}", hosts.emplace(each.host, hosts.size()).first->second);
  }
  return fmt::format("ranks {} hosts {}:{}", members.size(), hosts.size(), text);
}

std::string host_text(bool until_reboot) {
  const Result<HostIdentity> here = host_identity();
  if (!here) return "host unknown\n";
  std::string text = fmt::format("host {:016x}\n", here->host);
  if (until_reboot) text += fmt::format("boot {:016x} network {}\n", here->boot, here->network);
  return text;
}

std::string network_text(const engine::Endpoint& endpoint, BitsPerSec rate) {
  const datapath::Capabilities& can = endpoint.capabilities();
  const std::string text =
      fmt::format("datagram {} paths {} burst {} chunks {}\n", can.max_datagram_bytes,
                  can.max_paths, endpoint.burst_payload_bytes(), can.chunk_bytes);
  return text + fmt::format("link {} Mbit/s, {} NICs\n", rate.count / 1'000'000,
                            endpoint.local_nics().size());
}

std::string costs_text(const Tuning& tuning) {
  std::string text =
      fmt::format("ranks {} {}\nlatency {} {} {}\nbyte {} {}\n", tuning.costs.ranks,
                  tuning.group_ranks, tuning.latency_ns, tuning.large_latency_ns,
                  tuning.following_ns, tuning.send_ps_per_byte, tuning.reduce_ps_per_byte);
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) {
    text += fmt::format("{} {}", name_of(CostTable::kRows[row].collective),
                        name_of(CostTable::kRows[row].algorithm));
    for (const uint64_t ns : tuning.costs.ns[row]) text += fmt::format(" {}", ns);
    text += '\n';
  }
  return text;
}

bool read_costs(std::istream& lines, Tuning& tuning) {
  std::string word;
  lines >> word >> tuning.costs.ranks >> tuning.group_ranks >> word >> tuning.latency_ns >>
      tuning.large_latency_ns >> tuning.following_ns >> word >> tuning.send_ps_per_byte >>
      tuning.reduce_ps_per_byte;
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) {
    std::string collective;
    std::string algorithm;
    lines >> collective >> algorithm;
    if (collective != name_of(CostTable::kRows[row].collective) ||
        algorithm != name_of(CostTable::kRows[row].algorithm)) {
      return false;
    }
    for (uint64_t& ns : tuning.costs.ns[row]) lines >> ns;
  }
  return !lines.fail();
}

std::string head_of(const Fabric& fabric) { return fmt::format("{}\n{}", kHeading, fabric.text); }

// The content of a regular file that belongs to this user and that no other user may write.
Result<std::string> read_own_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file.valid()) return cannot("read", path, errno);
  struct stat about {};
  if (fstat(file.number(), &about) != 0) return cannot("read", path, errno);
  if (!S_ISREG(about.st_mode)) return refused(path, ErrorCode::kPermission, "it is no file");
  if (about.st_uid != geteuid() && about.st_uid != 0) {
    return refused(path, ErrorCode::kPermission,
                   fmt::format("it belongs to user {}", about.st_uid));
  }
  if ((about.st_mode & 022) != 0) {
    return refused(path, ErrorCode::kPermission, "other users may write to it");
  }
  std::string text(params::kMostCostsFileBytes, '\0');
  const ssize_t got = read(file.number(), text.data(), text.size());
  if (got < 0) return cannot("read", path, errno);
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace

Fabric fabric_of(const engine::Endpoint& endpoint, const Members& members,
                 const CommunicatorOptions& options) {
  Fabric fabric;
  fabric.text = fmt::format("version {}\n{}\nshared_memory {} chunk {} cores {}\n", kVersion,
                            placement(members), static_cast<int>(options.shared_memory),
                            options.tuning.chunk_bytes, engine::usable_cores());
  const BitsPerSec rate = engine::link_rate(members.addresses[0]);
  fabric.text += network_text(endpoint, rate);
  fabric.lasting = rate.count > 0 || members.share_address();
  if (!fabric.lasting || members.share_address()) fabric.text += host_text(!fabric.lasting);
  return fabric;
}

std::string table_path(const std::string& folder, const Fabric& fabric) {
  return fmt::format("{}/{:016x}.table", folder, hash_text(head_of(fabric)));
}

Result<void> write_table(const std::string& path, const Fabric& fabric, const Tuning& tuning,
                         TableSource source) {
  std::string text = head_of(fabric) +
                     fmt::format("made by {}\n", source == TableSource::kTune ? "tune" : "create") +
                     costs_text(tuning);
  text += fmt::format("hash {:016x}\n", hash_text(text));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  if (error) return cannot("write", path, error.value());
  const std::string fresh = fmt::format("{}.{:016x}", path, engine::system_seed());
  Descriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return cannot("write", path, errno);
  if (write_all(file.number(), text) && rename(fresh.c_str(), path.c_str()) == 0) return {};
  const int why = errno;
  unlink(fresh.c_str());
  return cannot("write", path, why);
}

Result<Tuning> read_table(const std::string& path, const Fabric& fabric, const Tuning& start) {
  const Result<std::string> text = read_own_file(path);
  if (!text) return fail(text.error());
  const size_t last = text->rfind("hash ");
  if (last == std::string::npos ||
      text->substr(last) != fmt::format("hash {:016x}\n", hash_text(text->substr(0, last)))) {
    return refused(path, ErrorCode::kInvalid, "it is damaged");
  }
  const std::string head = head_of(fabric) + "made by ";
  if (!text->starts_with(head)) {
    return refused(path, ErrorCode::kInvalid, "it is of another fabric");
  }
  Tuning tuning = start;
  std::istringstream lines(text->substr(head.size()));
  std::string source;
  lines >> source;
  if (!read_costs(lines, tuning)) return refused(path, ErrorCode::kInvalid, "it is no such table");
  tuning.to_be_measured = false;
  return tuning;
}

std::string default_table_folder() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing here changes the environment
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  // NOLINTEND(concurrency-mt-unsafe)
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/heddle/tuning";
  // The home of a system user may not exist, and is not created.
  std::error_code error;
  if (home != nullptr && home[0] == '/' && std::filesystem::is_directory(home, error)) {
    return std::string(home) + "/.cache/heddle/tuning";
  }
  return "";
}

}  // namespace heddle::collectives
