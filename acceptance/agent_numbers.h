// Agent numbers: numbers that other machines send, within the bounds of the types that hold them.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::acceptance {

// The whole number in it, from 0 to `most`; 0 of one that is no number.
uint64_t count_of(double number, uint64_t most = UINT64_MAX);

// Microseconds as a time: "2.96 us". Negative ones, and what is no number, are none.
std::string us_text(double us);

}  // namespace heddle::acceptance
