// FileStore: leases as files of a folder, JOB.lease each. Writers hold the folder's lock for
// milliseconds, and replace files by renaming, so that no reader sees half of one. Ages are
// differences of times that the file server sets, of the lease's file and of the lock's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "leases/store.h"

namespace heddle::leases {

class FileStore : public Store {
 public:
  // With `make` the folder is made where it is missing. Errors: see open_store().
  static Result<std::unique_ptr<Store>> open(const std::string& folder, bool make);

  Result<Snapshot> read() override;
  Result<std::string> version() override;
  Result<Published> publish(const Snapshot& seen, const Lease& lease, Claim claim) override;
  Result<bool> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;

 private:
  // A file JOB.lease.
  struct Found {
    std::optional<Lease> lease;  // none: it could not be read, and `why`
    std::string why;
    Nanos age;
    Descriptor file;
    bool live() const { return lease && age < lease->ttl; }
  };

  struct Draft {
    const Lease& lease;
    Claim claim;
    std::string path;
  };

  explicit FileStore(std::string folder) : folder_(std::move(folder)) {}
  std::string path_of(const std::string& job) const { return folder_ + "/" + job + ".lease"; }
  Result<Descriptor> lock(bool ends = false) const;
  Result<Nanos> now() const;
  Result<Snapshot> read_at(Nanos now) const;
  std::optional<Found> find(const std::string& job, Nanos now) const;
  Result<std::string> write_draft(const Lease& lease) const;
  Result<Published> replace(const Snapshot& seen, const Draft& draft);
  void sweep(Nanos now) const;

  std::string folder_;
};

}  // namespace heddle::leases
