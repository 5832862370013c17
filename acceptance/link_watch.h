// Link watch: what the links of a lab carry while an acceptance test runs: their bytes, their
// highest rates over kPeakSpan, and what they dropped or damaged.
#pragma once

#include <deque>
#include <vector>

#include "acceptance/link_verdicts.h"
#include "base/result.h"
#include "lab/counts.h"
#include "lab/lab.h"
#include "lab/link_meter.h"

namespace heddle::acceptance {

class LinkWatch {
 public:
  // Counts from now on. `lab` must outlive it. Errors: as read_counts().
  static Result<LinkWatch> open(const lab::Lab& lab);

  // Reads the bytes if kMeterInterval has passed; to be called often while links are loaded.
  Result<void> look();
  // Reads all counters; what it returns is since open() or restart().
  Result<std::vector<CarriedLoad>> loads();
  // Counts from now on.
  Result<void> restart();

 private:
  LinkWatch(const lab::Lab& lab, lab::LinkMeter meter) : lab_(&lab), meter_(std::move(meter)) {}

  const lab::Lab* lab_;
  lab::LinkMeter meter_;
  lab::Counts start_;
  std::deque<lab::MeterReading> readings_;  // of the last kPeakSpan
  std::vector<CarriedLoad> loads_;          // with the highest rates so far
};

// Raises the highest rates in `loads` to those between two readings. Public for tests.
void raise_peaks(const lab::MeterReading& before, const lab::MeterReading& now,
                 std::vector<CarriedLoad>& loads);

}  // namespace heddle::acceptance
