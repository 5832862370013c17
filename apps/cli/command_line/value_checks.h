// Value checks: what CLI11 asks whether a word can be the value of an option. One parser of sizes,
// of durations and of whole numbers serves every command.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"

namespace heddle::cli {

// A whole number in the range.
CLI::Validator whole_number(uint64_t least, uint64_t most = UINT64_MAX);
// One of the names.
CLI::Validator one_of(std::vector<std::string> names);
// A size of at least `least` bytes; `also` is a word that is accepted as well.
CLI::Validator size_value(uint64_t least = 0, std::string also = "");
// A size of 1 byte to 1 GiB, or the word.
CLI::Validator message_size_value(std::string also = "");
// A duration of at least `least`; `also` is a word that is accepted as well.
CLI::Validator duration_value(Nanos least = nanos(1), std::string also = "");
// A port, or an address in digits and a port, that can be served on.
CLI::Validator listen_address_value();

// "a|b|c", as the type of a value that is one of these.
std::string choices_text(std::span<const std::string_view> names);
std::string choices_text(const std::vector<std::string>& names);
// "a, b or c".
std::string alternatives_text(const std::vector<std::string>& names);

}  // namespace heddle::cli
