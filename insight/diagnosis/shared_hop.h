// The link of the fabric that late links share, where their paths' routers are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/late_together.h"

namespace heddle::insight {

struct SharedHop {
  std::string routers;  // in order, as of a Place
  size_t late = 0;      // links that pass it
  size_t others = 0;    // of the compared ones
  size_t known = 0;     // of these, those whose routers are known
};

// Of hops that nearly all paths of each late link pass, and nearly no other link's do; nothing:
// there is none, or the routers are not known. Links of one communicator or of several.
std::optional<SharedHop> shared_hop(const JobFacts& facts,
                                    const std::vector<const LateLinks*>& communicators);

}  // namespace heddle::insight
