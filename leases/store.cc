// Which store a place names: see store.h.
#include "leases/store.h"

#include <fmt/format.h>

#include <string_view>

#include "leases/etcd/etcd_store.h"
#include "leases/files/file_store.h"

namespace heddle::leases {
namespace {

constexpr std::string_view kEtcd = "etcd:";

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& place) {
  if (place.starts_with(kEtcd)) return EtcdStore::open(place.substr(kEtcd.size()), false);
  return FileStore::open(place, true);
}

Result<std::unique_ptr<Store>> open_store_to_read(const std::string& place) {
  if (place.starts_with(kEtcd)) return EtcdStore::open(place.substr(kEtcd.size()), true);
  return FileStore::open(place, false);
}

Unexpected name_in_use(const Lease& own, const StoredLease& other) {
  return fail(ErrorCode::kInUse, "cannot take the lease '" + own.job + "'",
              fmt::format("process {} on {} holds it, for {:.0f} s without a renewal",
                          other.lease.process, other.lease.host, to_seconds(other.left)),
              "choose another name with --job, or wait until that job ends");
}

}  // namespace heddle::leases
