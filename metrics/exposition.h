// Exposition: metrics as plain data, and as Prometheus' text format 0.0.4. The server writes it;
// acceptance/ makes the families of a running test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::metrics {

enum class Type : uint8_t { kCounter, kGauge };
const char* name_of(Type type);  // "counter", "gauge"

struct Label {
  std::string name;
  std::string value;  // any text: what the format cannot carry is replaced
};

struct Sample {
  std::vector<Label> labels;
  double value = 0;
};

// All samples of one name. One without samples is not written.
struct Family {
  std::string name;
  std::string help;
  Type type = Type::kGauge;
  std::vector<Sample> samples;
};

inline constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

// Errors: kInvalid for names that Prometheus does not accept, for a name or the labels of a sample
// that come twice, and for a counter below zero.
Result<std::string> exposition_of(const std::vector<Family>& families);

}  // namespace heddle::metrics
