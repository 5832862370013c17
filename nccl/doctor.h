// Doctor: checks a machine for NCCL over heddle. A pure function of gathered facts, so that tests
// state odd machines as data; `heddle nccl doctor` gathers them and prints the findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/result.h"
#include "nccl/libraries.h"
#include "nccl/measured_network.h"
#include "nccl/nics.h"
#include "nccl/plugin_names.h"

namespace heddle::nccl {

// A variable of NCCL with its value, and where it comes from.
struct NcclSetting {
  std::string name;  // "NCCL_NET"
  std::string value;
  std::string origin;  // "the environment", "/etc/nccl.conf"
};

struct KeyFacts {
  std::string file;              // HEDDLE_KEY_FILE; empty: no keys
  std::vector<std::string> ids;  // of the keys in the file
  std::optional<Error> error;    // why the file cannot be used
};

struct TunerFacts {
  std::optional<MeasuredNetwork> network;  // nothing: the tuner is off, or `error`
  std::optional<Error> error;              // why it has no figures although it is on
};

struct RecordingFacts {
  std::string folder;          // HEDDLE_RECORD; empty: nothing is recorded
  std::optional<Error> error;  // why nothing can be written there
};

// A number that was not found out is -1.
struct HostFacts {
  std::vector<Error> wrong_settings;  // HEDDLE_* variables that are left out of what follows
  std::vector<NcclSetting> settings;
  // Of the names in NCCL_NET_PLUGIN (unset: "heddle") the first that finds heddle's library, else
  // the first; and those before it.
  FoundPlugin plugin;
  std::vector<FoundPlugin> ahead;
  FoundPlugin profiler;  // what NCCL_PROFILER_PLUGIN and NCCL_TUNER_PLUGIN find, set or not; a
  FoundPlugin tuner;     // library that is not found has no path
  std::vector<NcclLibrary> libraries;

  std::vector<Nic> nics;                // all of the host
  std::string selection;                // HEDDLE_IFNAME
  std::string nics_file;                // HEDDLE_NCCL_NICS
  std::optional<Error> nics_error;      // of the file with their rails
  bool rules_known = false;             // whether `ip rule` could be read
  std::vector<std::string> rules_from;  // source addresses that have a routing rule

  std::optional<Error> udp_error;  // why no UDP endpoint opens
  bool gso = false;                // one call sends several segments
  bool gro = false;                // one call receives several segments
  int64_t rmem_max_bytes = -1;
  int64_t wmem_max_bytes = -1;
  bool forces_buffers = false;       // CAP_NET_ADMIN: larger buffers than rmem_max
  int64_t descriptors = -1;          // limit of open files of a process
  int64_t tracked_connections = -1;  // nf_conntrack: in use, and the most
  int64_t tracked_connections_most = -1;
  std::vector<std::string> firewalls;  // services that are set to run: "ufw", "firewalld"
  int cores = -1;                      // of the machine
  int usable_cores = -1;               // by affinity and the control group's quota
  int threads = 0;                     // HEDDLE_NCCL_THREADS
  int gpus = 0;                        // a process for each is assumed
  KeyFacts keys;
  TunerFacts figures;
  RecordingFacts recording;
};

// All findings, in the order of the checks.
std::vector<Finding> examine(const HostFacts& facts);

}  // namespace heddle::nccl
