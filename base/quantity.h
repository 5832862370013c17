// Quantities as users type and read them: sizes, spans of time, counts and rates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"

namespace heddle {

// The largest message that heddle carries.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;

// "64", "4K" and "4KiB" (x1024), "4KB" (x1000), likewise M and G. Errors: kInvalid; it says what is
// wrong.
Result<Bytes> parse_size(std::string_view text);
// A parse_size() that is 1 byte to 1 GiB.
Result<Bytes> parse_message_size(std::string_view text);
// "5", "0.5", "500ms", "5 s", "2m", "1h": zero to a year; seconds if there is no unit.
// Errors: kInvalid.
Result<Nanos> parse_duration(std::string_view text);

// Nothing for a whole number in the range, else what is wrong.
std::string refuse_whole_number(std::string_view text, uint64_t least, uint64_t most);

// "1 MiB", "64 B", "1500 B": the largest binary unit that divides it.
std::string size_text(uint64_t bytes);
// 1234567 as "1,234,567".
std::string count_text(uint64_t count);
// "1 round", "1,234 rounds".
std::string counted_text(uint64_t count, std::string_view noun);
// Three to four digits that matter: "9.87", "98.7", "987", "1234".
std::string digits_text(double value);
// "12.3 us", "1.23 ms", "2.05 s".
std::string duration_text(Nanos span);
// "36.2 Gb/s", "812 Mb/s", "4.10 kb/s".
std::string rate_text(double bits_per_s);
// The same in bytes: "4.53 GB/s", "101 MB/s".
std::string byte_rate_text(double bits_per_s);

}  // namespace heddle
