// EtcdStore: leases as keys of etcd, by its client `etcdctl`, which takes certificates and names of
// users from its own variables (ETCDCTL_CACERT, ETCDCTL_USER). Each key has an etcd lease, which
// ends with it; transactions compare revisions, so that two jobs never publish at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leases/store.h"

namespace heddle::leases {

class EtcdStore : public Store {
 public:
  // "HOST:PORT[,HOST:PORT]...". Errors: kInvalid.
  static Result<std::unique_ptr<Store>> open(const std::string& endpoints);

  Result<Snapshot> read() override;
  Result<std::string> version() override;
  Result<Published> publish(const Snapshot& seen, const Lease& lease) override;
  Result<bool> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;

 private:
  // A key as `etcdctl get` prints it.
  struct Key {
    std::string name;
    std::string value;
    int64_t changed_at = 0;  // revision; 0: there is no such key
    int64_t lease_id = 0;
  };

  explicit EtcdStore(std::string endpoints) : endpoints_(std::move(endpoints)) {}
  // What the client prints. Errors: kUnavailable, kTimeout.
  Result<std::string> call(std::vector<std::string> words, const std::string& input = {}) const;
  Result<std::vector<Key>> get(std::vector<std::string> words) const;
  Result<Key> find(const std::string& job) const;
  Result<void> grant(Nanos ttl);
  Result<Published> refused(const Lease& lease);
  Result<Nanos> left(int64_t lease_id) const;

  std::string endpoints_;
  int64_t lease_id_ = 0;    // 0: none
  int64_t changed_at_ = 0;  // revision at which the own key was published last
};

}  // namespace heddle::leases
