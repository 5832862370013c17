// Fabric: the hosts that an acceptance test is about, what connects them, and how commands run on
// the hosts. Hosts of a lab, or other machines; the stages do not see which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/good_group.h"
#include "acceptance/host_facts.h"
#include "acceptance/link_watch.h"
#include "acceptance/params.h"
#include "acceptance/run_counts.h"
#include "base/result.h"
#include "lab/lab.h"
#include "launch/remote_shell.h"
#include "topology/topology.h"

namespace heddle::acceptance {

class Commands;

// How a command starts.
struct Start {
  // By the wall clock, so that several on different hosts begin together; zero: at once.
  Nanos at;
  std::string input;  // its standard input; UTF-8, below 32 MiB
  size_t most_output_bytes = params::kMostOutputBytes;
  bool listed = true;  // among the commands that repeat a figure
};

// The RDMA port that has a host's address.
struct HostRdma {
  std::string device;
  bool software = false;  // the host's processors do the NIC's work
};

// A NIC of a host that has an address.
struct HostNic {
  std::string device;
  std::string address;   // in digits, of the IP version that is tested
  bool planned = false;  // the topology has it
};

// A host that does not answer, and why.
struct SilentHost {
  uint32_t host = 0;
  std::string complaint;
};

class Fabric {
 public:
  Fabric() = default;
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  virtual std::string name() const = 0;
  virtual bool is_emulated() const = 0;
  virtual std::vector<std::string> notes() const = 0;
  // As it is known. Hosts, switches and links of a report are its own.
  virtual const topology::Topology& topology() const = 0;
  // What rows call a link of the topology; in a part of a fabric the same as in the whole.
  virtual std::string link_label(uint32_t link) const;

  // In a process made for it: runs the command on a host of the topology, and ends with its exit
  // status. The first word "heddle" is this program, of whatever name. The process itself has the
  // input as its standard input.
  [[noreturn]] virtual void run(const std::string& host, const std::vector<std::string>& words,
                                const Start& start) const = 0;
  // Likewise, on this machine.
  [[noreturn]] virtual void run_here(const std::vector<std::string>& words) const;
  // How long a command may take until it runs: the longest that was seen. Zero: no time.
  virtual Nanos login_time() const = 0;
  // The same as a user may type it.
  virtual std::string line(const std::string& host,
                           const std::vector<std::string>& words) const = 0;
  // Options of `heddle run` and `heddle bench` that start one rank on each of these hosts.
  virtual std::vector<std::string> options_for_ranks(const std::vector<uint32_t>& hosts) const = 0;
  // Where the other hosts reach it, in digits, IPv4 or IPv6, and as commands name it.
  virtual std::string address(uint32_t host) const = 0;
  virtual std::string target(uint32_t host) const = 0;
  // The name of its port that has the address.
  virtual std::string device(uint32_t host) const = 0;
  // All of a host's that others may reach, the one that has its address first.
  virtual std::vector<HostNic> nics(uint32_t host) const {
    return {{device(host), address(host), true}};
  }
  // Whether the topology says what connects the hosts; false: it is one switch in its place.
  virtual bool has_plan() const { return true; }
  // Nothing where no RDMA port has the address.
  virtual std::optional<HostRdma> rdma(uint32_t host) const = 0;
  // The switch that has this address.
  virtual std::optional<uint32_t> switch_at(const std::string& address) const = 0;

  // The folder that ranks are to record in, another one for each `folder`, and the recording when
  // those of these hosts have, in a folder of this machine. Errors: kUnavailable, kSystem.
  virtual std::string folder_for_ranks(const std::string& folder) const = 0;
  virtual Result<void> collect(Commands& commands, const std::string& folder,
                               const std::vector<uint32_t>& hosts) const = 0;
  // Writes a file for the ranks of these hosts, at `path` where they have this machine's files: the
  // path by which they read it. Errors: kUnavailable, kSystem.
  virtual Result<std::string> place_file(Commands& commands, const std::string& path,
                                         const std::string& text,
                                         const std::vector<uint32_t>& hosts) const = 0;
  // Removes what ranks have left, and what was placed, on hosts that collect() was not called for.
  virtual void clean_up(Commands& commands, const std::vector<uint32_t>& hosts) const = 0;

  // Hosts that were found not to answer; nothing is read of them any more. None of a lab.
  virtual std::vector<SilentHost> silent() const { return {}; }
  // Asks the others whether they still answer.
  virtual void find_silent(Commands& /*commands*/) const {}

  // Of hosts that answer, and of switches that can be asked. Errors: kPermission, kUnavailable,
  // kSystem.
  virtual Result<FabricFacts> read_facts(Commands& commands) const = 0;
  // Counters of the NICs of hosts and of the ports of switches that can be asked, in the same order
  // each time. A place that does not answer is not known. Errors: as read_facts().
  virtual Result<std::vector<PlaceCounts>> read_counts(Commands& commands) const = 0;
  // Of the links of these hosts, and of others that can be read; `with_nics`: LinkWatch::nics() is
  // to have something. Errors: as read_facts().
  virtual Result<std::unique_ptr<LinkWatch>> watch_links(Commands& commands,
                                                         const std::vector<uint32_t>& hosts,
                                                         bool with_nics) const = 0;
};

// `lab` must outlive it.
std::unique_ptr<Fabric> fabric_of_lab(const lab::Lab& lab);

// What is left of a fabric without the hosts and links that are left out: hosts and links are
// numbered as in the part. `whole` must outlive it.
std::unique_ptr<Fabric> part_of_fabric(const Fabric& whole, PartOfTopology part);

struct MachinesAsked {
  launch::RemoteShell shell;
  std::string via;  // the shell as the user gave it
  std::vector<launch::RemoteHost> hosts;
  // What connects them, with hosts of the same names; none: one switch, with links of the rates and
  // MTUs that the machines' ports have.
  std::optional<topology::Topology> topology;
  std::function<bool()> interrupted = [] { return false; };
};
// Asks each machine for the port that has its address; those that do not answer, or have no such
// port, are silent(). Errors: those of choose_addresses(); kInvalid for hosts that the topology
// does not have; kUnavailable where fewer than two machines answer; kCancelled.
Result<std::unique_ptr<Fabric>> fabric_of_machines(MachinesAsked asked);

}  // namespace heddle::acceptance
