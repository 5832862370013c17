// Reads RDMA devices from sysfs: see datapath/rdma_devices.h.
#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "datapath/rdma_devices.h"

namespace heddle::datapath {
namespace {

namespace fs = std::filesystem;
using Address = std::array<uint8_t, 16>;

// The first line of a file; empty where it cannot be read, as for entries that are not in use.
std::string line_of(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// Names of a folder's entries: numbers in their order, else by name.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end(), [](const std::string& one, const std::string& other) {
    return one.size() != other.size() ? one.size() < other.size() : one < other;
  });
  return names;
}

std::optional<uint32_t> number_of(const std::string& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<RdmaGid> read_gids(const fs::path& port) {
  std::vector<RdmaGid> gids;
  for (const std::string& name : names_in(port / "gids")) {
    const auto index = number_of(name);
    RdmaGid gid;
    if (!index ||
        inet_pton(AF_INET6, line_of(port / "gids" / name).c_str(), gid.address.data()) != 1) {
      continue;
    }
    if (gid.address == Address{}) continue;
    gid.index = *index;
    gid.roce_v2 = line_of(port / "gid_attrs/types" / name) == "RoCE v2";
    gid.interface = line_of(port / "gid_attrs/ndevs" / name);
    gids.push_back(std::move(gid));
  }
  return gids;
}

RdmaPort read_port(const fs::path& folder, uint32_t number) {
  RdmaPort port;
  port.number = number;
  const std::string state = line_of(folder / "state");  // "4: ACTIVE"
  const size_t space = state.find(' ');
  port.state = space == std::string::npos ? state : state.substr(space + 1);
  port.ethernet = line_of(folder / "link_layer") == "Ethernet";
  port.rate = line_of(folder / "rate");
  port.gids = read_gids(folder);
  return port;
}

// The node of a device: class/infiniband_verbs/uverbsN/ibdev has its name.
std::string node_of(const fs::path& sysfs, const std::string& dev, const std::string& device) {
  const fs::path folder = sysfs / "class/infiniband_verbs";
  for (const std::string& name : names_in(folder)) {
    if (line_of(folder / name / "ibdev") == device) return dev + "/infiniband/" + name;
  }
  return {};
}

NodeState state_of(const std::string& node) {
  if (node.empty() || access(node.c_str(), F_OK) != 0) return NodeState::kMissing;
  return access(node.c_str(), R_OK | W_OK) == 0 ? NodeState::kUsable : NodeState::kForbidden;
}

}  // namespace

RdmaFacts read_rdma_facts(const std::string& sysfs, const std::string& dev) {
  RdmaFacts facts;
  const fs::path devices = fs::path(sysfs) / "class/infiniband";
  for (const std::string& name : names_in(devices)) {
    RdmaDevice device;
    device.name = name;
    device.node = node_of(sysfs, dev, name);
    device.node_state = state_of(device.node);
    device.software = !fs::exists(devices / name / "device");
    for (const std::string& port : names_in(devices / name / "ports")) {
      if (const auto number = number_of(port)) {
        device.ports.push_back(read_port(devices / name / "ports" / port, *number));
      }
    }
    facts.devices.push_back(std::move(device));
  }
  const fs::path interfaces = fs::path(sysfs) / "class/net";
  for (const std::string& name : names_in(interfaces)) {
    std::error_code failed;
    const fs::path master = fs::read_symlink(interfaces / name / "master", failed);
    if (!failed) facts.masters.emplace(name, master.filename().string());
  }
  return facts;
}

}  // namespace heddle::datapath
