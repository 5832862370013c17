// A lease of one loaded link, for tests of stores.
#pragma once

#include <string>

#include "leases/lease.h"

namespace heddle::leases {

inline Lease small_lease(const std::string& job) {
  return {.job = job,
          .holder = new_holder(),
          .host = "here",
          .process = 1,
          .since_s = 1,
          .ttl = seconds(60),
          .fabric = "f",
          .loads = {{3, 1'000}}};
}

}  // namespace heddle::leases
