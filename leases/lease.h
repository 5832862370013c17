// Lease: what a job publishes for as long as it runs: the bytes that its plan puts on each link of
// the fabric. Stores (store.h) keep it as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::leases {

// The version of the text that this build writes and reads.
inline constexpr uint64_t kLeaseVersion = 1;

struct LinkBytes {
  uint32_t link = 0;  // planner::LinkId: a direction of a cable
  uint64_t bytes = 0;

  bool operator==(const LinkBytes&) const = default;
};

struct BusyLink {
  std::string name;    // "leaf0 -> spine1"
  double busy_us = 0;  // that it takes for the bytes of this job, at most 1e12

  bool operator==(const BusyLink&) const = default;
};

struct Lease {
  std::string job;     // at most one lease a name
  std::string holder;  // 128 random bits in 32 digits: equal to no other holder's
  std::string host;
  uint64_t process = 0;
  int64_t since_s = 0;            // since 1970, by the clock of the holder's host
  Nanos ttl;                      // it expires when it is not renewed within this time
  uint64_t plans = 1;             // that it had so far; grows when the job moves to other links
  std::string fabric;             // topology::fingerprint()
  Nanos period;                   // in which the job sends its bytes; zero: not known
  uint64_t bytes = 0;             // from host to host
  std::vector<LinkBytes> loads;   // by link, without those that carry nothing
  std::vector<BusyLink> busiest;  // between switches, the most loaded first

  bool operator==(const Lease&) const = default;
};

// Names are files and keys: 1 to 64 letters, digits, '.', '_' and '-', and begin with no '.'.
// Errors: kInvalid.
Result<void> check_job_name(const std::string& name);

// From the system's cryptographic generator.
std::string new_holder();
bool is_holder(const std::string& text);
std::string own_host_name();

std::string text_of(const Lease& lease);
// `name`: where the text is from. Errors: kVersion; kInvalid for all that text_of() does not write.
Result<Lease> parse_lease(const std::string& text, const std::string& name);

}  // namespace heddle::leases
