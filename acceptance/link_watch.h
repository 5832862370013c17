// Link watch: what the links of a fabric carry while an acceptance test runs: their bytes, their
// highest rates over kPeakSpan, and what they dropped or damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "acceptance/link_verdicts.h"
#include "acceptance/run_counts.h"
#include "base/result.h"
#include "lab/lab.h"
#include "lab/link_meter.h"

namespace heddle::acceptance {

class LinkWatch {
 public:
  virtual ~LinkWatch() = default;

  // Reads the bytes if it is time; to be called often while links are loaded.
  virtual Result<void> look() = 0;
  // Reads all counters; what it returns, by link of the fabric's topology, is since the watch began
  // or restart(). A link that no host has an end of may have none.
  virtual Result<std::vector<CarriedLoad>> loads() = 0;
  // Counts from now on.
  virtual Result<void> restart() = 0;
  // The same as loads() since the watch began, whatever was restarted; but for the highest rates,
  // and without waiting for other machines. Errors: as lab::read_counts().
  virtual Result<std::vector<CarriedLoad>> totals() = 0;
  // Counters of NICs and RDMA ports as they are, of places that are known; nothing where the watch
  // was made without them.
  virtual std::vector<PlaceCounts> nics() = 0;
};

// Of all links of a lab, from now on. `lab` must outlive it. Errors: as lab::read_counts().
Result<std::unique_ptr<LinkWatch>> watch_lab(const lab::Lab& lab);

// Of two readings of a byte counter, in bits/s; 0 where the counter began anew between them.
double rate_between(uint64_t before, uint64_t now, Nanos span);

// Raises the highest rates in `loads` to those between two readings. Public for tests.
void raise_peaks(const lab::MeterReading& before, const lab::MeterReading& now,
                 std::vector<CarriedLoad>& loads);

}  // namespace heddle::acceptance
