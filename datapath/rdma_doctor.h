// RdmaDoctor: checks a machine for RDMA verbs. examine_rdma() is a pure function of gathered facts,
// so that tests state odd machines as data; `heddle doctor rdma` prints its findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/host_interface.h"
#include "datapath/rdma_devices.h"

namespace heddle::datapath {

struct RdmaHost {
  RdmaFacts devices;
  RdmaBinding binding;
  std::vector<HostInterface> interfaces;
  bool library = false;       // libibverbs.so.1 can be loaded
  uint32_t providers = 0;     // drivers that libibverbs is configured for
  int64_t memlock_bytes = 0;  // limit of locked memory; -1: none
  bool may_lock = false;      // CAP_IPC_LOCK: the limit does not apply
};

// The facts of this host. Loads and closes libibverbs.
RdmaHost read_rdma_host(const RdmaBinding& binding);

// All findings, in the order of the checks. It fails where no port can be used, or libibverbs or
// its drivers are missing.
std::vector<Finding> examine_rdma(const RdmaHost& host);

}  // namespace heddle::datapath
