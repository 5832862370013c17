// See facts.h.
#include "apps/cli/nccl/facts.h"

#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include "datapath/interfaces.h"
#include "datapath/udp.h"
#include "engine/configured.h"
#include "engine/cores.h"
#include "engine/key_file.h"
#include "nccl/tuner_network.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libnccl-net-heddle.so";

// Standard output of a command; empty if it cannot run.
std::string output_of(const char* command) {
  const auto close = [](std::FILE* file) { pclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command, "re"), close);
  std::string output;
  std::array<char, 4096> part{};
  while (pipe != nullptr) {
    const size_t bytes = std::fread(part.data(), 1, part.size(), pipe.get());
    if (bytes == 0) break;
    output.append(part.data(), bytes);
  }
  return output;
}

int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = -1;
  return file >> number ? number : -1;
}

bool exists(const char* path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

bool has_line(const char* path, const std::string& wanted) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line == wanted) return true;
  }
  return false;
}

// NCCL's files of variables, NAME=VALUE a line; the environment overrides them.
void add_file_settings(const std::string& path, std::vector<nccl::NcclSetting>& settings) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    bool known = false;
    for (const nccl::NcclSetting& each : settings) known = known || each.name == name;
    if (!known) settings.push_back({name, line.substr(equals + 1), path});
  }
}

std::vector<nccl::NcclSetting> nccl_settings() {
  std::vector<nccl::NcclSetting> settings;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string line = *each;
    if (!line.starts_with("NCCL_")) continue;
    const size_t equals = line.find('=');
    settings.push_back({line.substr(0, equals), line.substr(equals + 1), "the environment"});
  }
  const std::string own = environment_value("NCCL_CONF_FILE");
  add_file_settings(own.empty() ? environment_value("HOME") + "/.nccl.conf" : own, settings);
  add_file_settings("/etc/nccl.conf", settings);
  return settings;
}

std::string setting_of(const std::vector<nccl::NcclSetting>& settings, const std::string& name) {
  for (const nccl::NcclSetting& each : settings) {
    if (each.name == name) return each.value;
  }
  return {};
}

// Looks for each name of NCCL_NET_PLUGIN until one finds heddle's library.
void add_net_plugin(nccl::HostFacts& facts) {
  std::vector<std::string> names = nccl::plugin_list(setting_of(facts.settings, "NCCL_NET_PLUGIN"));
  if (names.empty()) names.emplace_back("heddle");
  std::vector<nccl::FoundPlugin> found;
  for (const std::string& name : names) {
    found.push_back(nccl::look_for_plugin(name));
    if (strcasecmp(found.back().net_name.c_str(), "heddle") != 0) continue;
    facts.plugin = found.back();
    found.pop_back();
    facts.ahead = std::move(found);
    return;
  }
  facts.plugin = found.front();
}

nccl::FoundPlugin plugin_of(const nccl::HostFacts& facts, nccl::PluginSlot slot) {
  return nccl::look_for_plugin(setting_of(facts.settings, nccl::slot_variable(slot)), slot);
}

std::vector<nccl::NcclLibrary> libraries() {
  nccl::LibrarySources sources;
  sources.ld_library_path = environment_value("LD_LIBRARY_PATH");
  sources.ldconfig = output_of("/sbin/ldconfig -p 2>/dev/null");
  sources.virtual_env = environment_value("VIRTUAL_ENV");
  sources.conda_prefix = environment_value("CONDA_PREFIX");
  sources.home = environment_value("HOME");
  return nccl::find_nccl_libraries(sources);
}

// Lines such as "1000:	from 10.0.0.1 lookup 101"; the main rules are from all.
void add_rules(nccl::HostFacts& facts) {
  for (const char* command : {"ip -4 rule 2>/dev/null", "ip -6 rule 2>/dev/null"}) {
    std::istringstream words(output_of(command));
    for (std::string word; words >> word;) {
      if (word != "from" || !(words >> word)) continue;
      facts.rules_known = true;
      if (word != "all") facts.rules_from.push_back(word);
    }
  }
}

void add_udp(nccl::HostFacts& facts) {
  datapath::UdpOptions options;
  options.paths = 1;
  const auto opened = datapath::open_udp(options);
  if (!opened) {
    facts.udp_error = opened.error();
    return;
  }
  facts.gso = (*opened)->capabilities().max_burst_segments > 1;
  facts.gro = (*opened)->capabilities().receives_runs;
}

bool has_net_admin() {
  constexpr unsigned kNetAdmin = 12;  // CAP_NET_ADMIN
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    const size_t begin = line.find_first_not_of(" \t", 7);
    if (begin == std::string::npos) break;
    uint64_t bits = 0;
    std::from_chars(line.data() + begin, line.data() + line.size(), bits, 16);
    return ((bits >> kNetAdmin) & 1) != 0;
  }
  return false;
}

void add_limits(nccl::HostFacts& facts) {
  facts.rmem_max_bytes = number_in("/proc/sys/net/core/rmem_max");
  facts.wmem_max_bytes = number_in("/proc/sys/net/core/wmem_max");
  facts.forces_buffers = has_net_admin();
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    facts.descriptors = static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, INT32_MAX));
  }
  facts.tracked_connections = number_in("/proc/sys/net/netfilter/nf_conntrack_count");
  facts.tracked_connections_most = number_in("/proc/sys/net/netfilter/nf_conntrack_max");
  facts.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.usable_cores = engine::usable_cores();
  if (has_line("/etc/ufw/ufw.conf", "ENABLED=yes")) facts.firewalls.emplace_back("ufw");
  if (exists("/run/firewalld") ||
      exists("/etc/systemd/system/multi-user.target.wants/firewalld.service")) {
    facts.firewalls.emplace_back("firewalld");
  }
  if (exists("/etc/systemd/system/sysinit.target.wants/nftables.service")) {
    facts.firewalls.emplace_back("nftables");
  }
}

nccl::KeyFacts key_facts(const Config& config) {
  nccl::KeyFacts facts;
  facts.file = config.text("key_file");
  const auto keys = engine::configured_keys(config);
  if (!keys) {
    facts.error = keys.error();
    return facts;
  }
  for (const transport::ClusterKey& key : *keys) facts.ids.push_back(engine::id_text(key));
  if (keys->empty()) facts.file.clear();
  return facts;
}

nccl::TunerFacts tuner_facts(const Config& config) {
  nccl::TunerFacts facts;
  if (auto network = nccl::tuner_network(config)) {
    facts.network = *network;
  } else {
    facts.error = network.error();
  }
  return facts;
}

// The folder, or where it does not exist yet the one that it is made in, must be writable.
nccl::RecordingFacts recording_facts(const Config& config) {
  nccl::RecordingFacts facts;
  facts.folder = config.text("record");
  if (facts.folder.empty()) return facts;
  std::error_code failed;
  fs::path folder = fs::absolute(facts.folder, failed).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!fs::exists(folder, failed)) folder = folder.parent_path();
  const bool writable =
      fs::is_directory(folder, failed) && access(folder.c_str(), W_OK | X_OK) == 0;
  if (!writable) {
    facts.error = Error{ErrorCode::kPermission, "cannot record into " + facts.folder,
                        folder.string() + " is no folder that this user may write",
                        "make the folder, or correct HEDDLE_RECORD"};
  }
  return facts;
}

}  // namespace

int gpu_count() {
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator it("/proc/driver/nvidia/gpus", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

nccl::NicSources nic_sources(const Config& config) {
  nccl::NicSources sources;
  sources.interfaces = datapath::host_interfaces();
  sources.selection = config.text("ifname");
  sources.file = config.text("nccl.nics");
  return sources;
}

std::string plugin_path() {
  const nccl::FoundPlugin found = nccl::look_for_plugin("heddle");
  if (!found.path.empty()) return found.path;
  std::error_code failed;
  const fs::path program = fs::canonical("/proc/self/exe", failed);
  if (failed) return {};
  const fs::path prefix = program.parent_path().parent_path();
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    const fs::path file = prefix / folder / kLibrary;
    if (fs::exists(file, failed)) return file;
  }
  return {};
}

std::vector<Error> drop_wrong_variables() {
  std::vector<Error> errors;
  for (const std::string& pair : ConfigSources::of_process().environment) {
    ConfigSources alone;
    alone.environment = {pair};
    const auto config = Config::load(config_keys(), alone);
    if (config) continue;
    errors.push_back(config.error());
    unsetenv(pair.substr(0, pair.find('=')).c_str());
  }
  return errors;
}

nccl::HostFacts gather_facts(const Config& config) {
  nccl::HostFacts facts;
  facts.settings = nccl_settings();
  add_net_plugin(facts);
  facts.profiler = plugin_of(facts, nccl::PluginSlot::kProfiler);
  facts.tuner = plugin_of(facts, nccl::PluginSlot::kTuner);
  facts.libraries = libraries();
  const nccl::NicSources sources = nic_sources(config);
  facts.selection = sources.selection;
  facts.nics_file = sources.file;
  if (auto nics = nccl::list_nics(sources)) {
    facts.nics = std::move(*nics);
  } else {
    facts.nics_error = nics.error();
  }
  add_rules(facts);
  add_udp(facts);
  add_limits(facts);
  facts.threads = static_cast<int>(config.integer("nccl.threads"));
  facts.gpus = gpu_count();
  facts.keys = key_facts(config);
  facts.figures = tuner_facts(config);
  facts.recording = recording_facts(config);
  return facts;
}

}  // namespace heddle::cli
