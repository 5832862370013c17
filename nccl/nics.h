// Nics: the host's network interfaces as NCCL's devices: names, PCI paths, speeds, guids, rails.
// Read from the host's interfaces, a sysfs tree and an optional file; no network call is made here.
// The net plugin makes one device of each, `heddle nccl doctor` checks them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_interface.h"
#include "base/result.h"
#include "nccl/params.h"

namespace heddle::nccl {

using params::kUnknownSpeedMbits;

// One interface. Ports of one chip have the same guid and differ in `port`; interfaces over one
// port (VLANs) have both in common. NCCL counts the bandwidth of each (guid, port) once.
struct Nic {
  std::string name;
  uint32_t index = 0;                       // the kernel's interface index
  std::vector<InterfaceAddress> addresses;  // in the system's order: IPv4 first
  uint32_t mtu_bytes = 0;
  int speed_mbits = kUnknownSpeedMbits;  // of the link, Mb/s
  bool speed_known = false;              // false: speed_mbits is assumed
  // Real path of its PCI device (of a bond: of the first slave; of a VLAN: of the interface below);
  // empty: it has none. Ends with the PCI function, without what a driver adds below (virtio0).
  std::string pci_path;
  uint64_t guid = 0;  // never 0
  int port = 1;
  int rail = -1;          // -1: unknown
  int plane = -1;         // -1: unknown
  double latency_us = 0;  // 0: unknown

  bool described = false;  // the file of HEDDLE_NCCL_NICS has an entry for it

  bool up = false;       // enabled
  bool carrier = false;  // enabled and the link is there
  bool loopback = false;
  bool rdma = false;               // its device offers RDMA, too (which heddle does not use)
  int numa_node = -1;              // -1: unknown
  std::string driver;              // "mlx5_core"; empty: unknown
  std::string kind;                // "physical", "bond", "vlan", "bridge" or "virtual"
  std::vector<std::string> lower;  // interfaces below: a bond's slaves, a VLAN's parent
};

// The inputs of find_nics().
struct NicSources {
  std::vector<HostInterface> interfaces;  // datapath::host_interfaces()
  std::string sysfs = "/sys";             // root of the sysfs tree
  std::string selection;                  // HEDDLE_IFNAME; see select_nics()
  std::string file;                       // HEDDLE_NCCL_NICS: a TOML file; empty: none
};

// All interfaces of the host in the system's order, with what the file overrides. Without sysfs
// (a container that hides it), only what `interfaces` has. Errors: kUnavailable (the file cannot be
// read), kInvalid with its line (unknown key, wrong type or range, an interface named twice).
Result<std::vector<Nic>> list_nics(const NicSources& sources);

// Whether heddle can use it: a carrier, and an address that is not link-local.
bool usable(const Nic& nic);

// heddle's sockets for each NIC (docs/how-to/several_nics.md), and those of NCCL and the program.
using params::kDescriptorsOfNic;
using params::kDescriptorsOfProgram;

// Loopback, docker* and virbr*: used only where nothing else is left. Other hosts reach none of
// them.
bool last_resort(const Nic& nic);

// Errors: kInvalid for a selection with an empty name, as in "eth0,,eth1" or "^".
Result<void> check_selection(const std::string& selection);

// The usable ones that `selection` chooses, in the system's order, with NCCL_SOCKET_IFNAME's
// grammar: prefixes separated by commas; a leading `^` excludes them (and loopback, unless nothing
// else is left), `=` takes whole names. Empty: all but loopback, docker and virbr; if there is
// none, the first of docker, loopback and virbr that has one.
std::vector<Nic> select_nics(std::vector<Nic> nics, std::string_view selection);

// list_nics() and select_nics(). Errors: those of list_nics() and check_selection(), kUnavailable
// if none is left.
Result<std::vector<Nic>> find_nics(const NicSources& sources);

// One line for a log: "eth0 10.0.0.1, 100000 Mb/s, MTU 9000, 0000:3b:00.0, rail 0".
std::string nic_text(const Nic& nic);

}  // namespace heddle::nccl
