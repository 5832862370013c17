// SiteLink: what joins the sites of a job, each to the next, in a ring.
#pragma once

namespace heddle::planner {

struct SiteLink {
  double km = 0;                // from a site to the next
  double bits_per_s = 800e9;    // of all cables from a site to the next, in one direction
  double loss = 0;              // of packets
  bool go_back_n = true;        // a loss repeats all in flight; false: the lost packet alone
  double gpu_window_bytes = 0;  // that a GPU has in flight at most; 0: as much as fills the link
};

}  // namespace heddle::planner
