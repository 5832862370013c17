// EtcdStore: leases as keys of etcd, by its client `etcdctl`, which takes certificates and names of
// users from its own variables (ETCDCTL_CACERT, ETCDCTL_USER). Each key has an etcd lease, which
// ends with it; transactions compare revisions, so that two jobs never publish at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leases/params.h"
#include "leases/store.h"

namespace heddle::leases {

class EtcdStore : public Store {
 public:
  // "HOST:PORT[,HOST:PORT]...". `with_times`: read() asks when each lease expires; without, it is
  // its time to live. Errors: kInvalid.
  static Result<std::unique_ptr<Store>> open(const std::string& endpoints, bool with_times);

  Result<Snapshot> read() override;
  Result<std::string> version() override;
  Result<Published> publish(const Snapshot& seen, const Lease& lease, Claim claim) override;
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

  // What was read of a key: a lease, or why it is none.
  struct Known {
    int64_t changed_at = 0;
    std::optional<Lease> lease;
    std::string why;
  };

  EtcdStore(std::string endpoints, bool with_times)
      : endpoints_(std::move(endpoints)), with_times_(with_times) {}
  // What the client prints. Errors: kUnavailable, kTimeout.
  Result<std::string> call(std::vector<std::string> words, const std::string& input = {}) const;
  Result<std::vector<Key>> get(std::vector<std::string> words) const;
  // All keys of leases without their values, `turn` among them.
  Result<std::vector<Key>> keys() const;
  Result<Key> find(const std::string& job) const;
  Result<const Known*> know(const Key& name, const std::string& job);
  static std::string version_of(const std::vector<Key>& keys);
  Result<void> grant(Nanos ttl);
  Result<Published> refused(const Lease& lease, Claim claim);
  Result<Nanos> left(int64_t lease_id) const;

  std::string endpoints_;
  bool with_times_ = false;
  Nanos limit_ = params::kMostEtcdWait;  // of a call
  std::map<std::string, Known> known_;   // by key
  int64_t lease_id_ = 0;                 // 0: none
  int64_t changed_at_ = 0;               // revision at which the own key was published last
};

}  // namespace heddle::leases
