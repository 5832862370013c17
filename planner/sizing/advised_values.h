// Values in advice, rounded so that one who follows it has enough: what must be at least so large
// is rounded up, what must be at most so large down.
#pragma once

#include <string>

namespace heddle::planner {

// To `digits` digits that matter; 0 and below as they are.
double rounded_up(double value, int digits);
double rounded_down(double value, int digits);

// A rate that is at least `bits_per_s`: "401 Gb/s" for 400.4 Gb/s.
std::string rate_at_least_text(double bits_per_s);
// A number of times that is at least `times`: "1.22" for 1.211.
std::string times_at_least_text(double times);
// A share that is at most `share`: "0.33" for 0.338.
std::string share_at_most_text(double share);

}  // namespace heddle::planner
