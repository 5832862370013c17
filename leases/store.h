// Store: where jobs publish their leases: a folder that their hosts share (files/), or etcd
// (etcd/). No daemon of heddle's runs for it. A lease that is not renewed within its time to live
// has expired: by the clock of the folder's file server, or etcd's, so clocks of hosts may differ.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "leases/lease.h"

namespace heddle::leases {

struct StoredLease {
  Lease lease;
  Nanos left;  // until it expires, if it is not renewed
};

struct Snapshot {
  std::vector<StoredLease> live;     // by the names of jobs
  std::vector<std::string> ignored;  // sentences: what is there and is no lease
  std::string version;               // of the set, for publish(); the store's own
};

enum class Published : uint8_t {
  kDone,
  kChanged,  // another job has published since the snapshot: read again, and plan anew
  kLost,     // kNext: the lease is this holder's no longer
};

enum class Claim : uint8_t {
  kFirst,  // the holder has no lease, or lost it
  kNext,   // it has one, and publishes its next plan
};

class Store {
 public:
  virtual ~Store() = default;

  // Errors of all: kUnavailable (it cannot be reached), kPermission, kTimeout, kSystem, kCancelled.

  virtual Result<Snapshot> read() = 0;
  // Snapshot::version without the leases.
  virtual Result<std::string> version() = 0;
  // Publishes a lease, or its next plan, if nothing was published since `seen`. Its time to live
  // begins. Errors: kInUse (another holder has the job's name), kExhausted (no space); after others
  // than these it may have been published.
  virtual Result<Published> publish(const Snapshot& seen, const Lease& lease, Claim claim) = 0;
  // Its time to live begins anew. False: it has expired, or was removed or replaced; then nothing
  // is changed.
  virtual Result<bool> renew(const Lease& lease) = 0;
  // Removes it if it is still this holder's.
  virtual Result<void> release(const Lease& lease) = 0;
};

// "FOLDER", which is made where it is missing, or "etcd:HOST:PORT[,HOST:PORT]...". Errors:
// kInvalid, kPermission, kSystem, kUnavailable (etcd's client is missing).
Result<std::unique_ptr<Store>> open_store(const std::string& place);
// Likewise, for readers: a missing folder is an error.
Result<std::unique_ptr<Store>> open_store_to_read(const std::string& place);

// The error for a name that another holder has.
Unexpected name_in_use(const Lease& own, const StoredLease& other);

}  // namespace heddle::leases
