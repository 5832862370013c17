// See rdma_ports.h.
#include "nodes/rdma_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "nodes/params.h"
#include "nodes/tree_files.h"

namespace heddle::nodes {
namespace {

constexpr size_t kMostGids = 256;
constexpr std::string_view kUnused = "0000:0000:0000:0000:0000:0000:0000:0000";
constexpr std::string_view kOfIpv4 = "0000:0000:0000:0000:0000:ffff:";

std::string gid_of(const RdmaPort& port) {
  const std::string layer = text_in(port.folder / "link_layer");
  if (!layer.empty() && layer != "Ethernet") return layer;
  size_t unused = 0;
  for (size_t i = 0; i < kMostGids && unused < params::kMostUnused; ++i) {
    const std::string gid = text_in(port.folder / "gids" / std::to_string(i));
    if (gid.empty() || gid == kUnused) {
      ++unused;
      continue;
    }
    unused = 0;
    const std::string type = text_in(port.folder / "gid_attrs/types" / std::to_string(i));
    if (type == "RoCE v2" && gid.starts_with(kOfIpv4)) {
      return fmt::format("RoCE v2 of IPv4 at {}", i);
    }
  }
  return "no RoCE v2 of IPv4";
}

}  // namespace

std::vector<RdmaPort> rdma_ports(const std::filesystem::path& sys) {
  std::vector<RdmaPort> ports;
  const std::filesystem::path devices = sys / "class/infiniband";
  for (const std::string& device : names_in(devices)) {
    for (const std::string& port : names_in(devices / device / "ports")) {
      ports.push_back({device, port, devices / device / "ports" / port});
    }
  }
  return ports;
}

std::string gids_text(const std::vector<RdmaPort>& ports) {
  if (ports.empty()) return "no RDMA devices";
  std::vector<std::string> texts;
  for (const RdmaPort& port : ports) texts.push_back(gid_of(port));
  return counted(texts);
}

std::map<std::string, uint64_t> rdma_counters(const RdmaPort& port) {
  std::map<std::string, uint64_t> counters;
  for (const char* const folder : {"counters", "hw_counters"}) {
    for (const std::string& name : names_in(port.folder / folder)) {
      if (name == "lifespan") continue;  // a setting of the readings, in milliseconds
      if (const auto count = count_in(port.folder / folder / name)) counters[name] = *count;
    }
  }
  return counters;
}

bool is_error_counter(const std::string& name) {
  // Of mlx5, bnxt_re, irdma and rxe, and of the InfiniBand specification.
  constexpr std::array<std::string_view, 11> kParts = {
      "_err",    "timeout",   "out_of_seq", "out_of_buffer", "retrans", "nak",
      "discard", "duplicate", "link_down",  "dropped",       "icrc"};
  if (name.find("flush") != std::string::npos) return false;  // of queue pairs that are closed
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

}  // namespace heddle::nodes
