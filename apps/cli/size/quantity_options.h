// Options of `heddle size` that are quantities, as numbers in base units.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

namespace heddle::cli {

struct NumberRange {
  double least = 0;
  double most = 0;
};

// A decimal number in the range.
CLI::Option* add_number(CLI::App& command, const std::string& name, double& value,
                        const std::string& about, NumberRange range);
// A whole number in the range.
CLI::Option* add_count(CLI::App& command, const std::string& name, uint64_t& value,
                       const std::string& about, uint64_t most);
// A share: "0.01%" or "1e-4", from 0 to below 1.
CLI::Option* add_share(CLI::App& command, const std::string& name, double& value,
                       const std::string& about);
// "400Gbit/s", in bits a second.
CLI::Option* add_rate(CLI::App& command, const std::string& name, double& value,
                      const std::string& about);
// "64K", in bytes.
CLI::Option* add_size(CLI::App& command, const std::string& name, double& value,
                      const std::string& about);
// "10us", in seconds.
CLI::Option* add_time(CLI::App& command, const std::string& name, double& value,
                      const std::string& about);

}  // namespace heddle::cli
