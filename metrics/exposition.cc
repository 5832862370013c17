// See exposition.h. The format: "Exposition formats" in Prometheus' documentation.
#include "metrics/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

namespace heddle::metrics {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_';
}

bool is_name(std::string_view text, std::string_view also) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [&](char each) {
    return is_letter(each) || (each >= '0' && each <= '9') ||
           also.find(each) != std::string_view::npos;
  });
}

bool is_metric_name(std::string_view text) { return is_name(text, ":"); }

// Two underscores at the beginning are Prometheus' own.
bool is_label_name(std::string_view text) { return is_name(text, "") && text.rfind("__", 0) != 0; }

// Bytes of the UTF-8 character at the beginning; 0: none is there.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

// Prometheus refuses a whole page for one byte that is no UTF-8, and its reader ends at a zero.
std::string escaped(std::string_view text, bool quotes) {
  std::string made;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const char first = text.front();
    if (first == '\\') {
      made += "\\\\";
    } else if (first == '\n') {
      made += "\\n";
    } else if (first == '"' && quotes) {
      made += "\\\"";
    } else if (size == 0 ||
               (size == 1 && (static_cast<unsigned char>(first) < ' ' || first == 127))) {
      made += kReplacement;
    } else {
      made += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return made;
}

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

Unexpected refused(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kInvalid, fmt::format("cannot write the metric '{}'", name), why,
              "this is a defect of heddle");
}

Result<std::string> labels_text(const Family& family, std::vector<Label> labels) {
  std::string text;
  std::sort(labels.begin(), labels.end(),
            [](const Label& a, const Label& b) { return a.name < b.name; });
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string& name = labels[i].name;
    if (!is_label_name(name)) {
      return refused(family.name, fmt::format("'{}' is no name of a label", name));
    }
    if (i > 0 && labels[i - 1].name == name) {
      return refused(family.name, fmt::format("it has the label '{}' twice", name));
    }
    text +=
        fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(labels[i].value, true));
  }
  return text.empty() ? text : "{" + text + "}";
}

Result<std::string> samples_text(const Family& family) {
  std::string text;
  std::set<std::string> known;
  for (const Sample& sample : family.samples) {
    const Result<std::string> labels = labels_text(family, sample.labels);
    if (!labels) return fail(labels.error());
    if (!known.insert(*labels).second) {
      return refused(family.name, fmt::format("it has two samples with the labels {}", *labels));
    }
    if (family.type == Type::kCounter && !(sample.value >= 0)) {
      return refused(family.name, "a counter is no number of zero or more");
    }
    text += fmt::format("{}{} {}\n", family.name, *labels, value_text(sample.value));
  }
  return text;
}

}  // namespace

const char* name_of(Type type) { return type == Type::kCounter ? "counter" : "gauge"; }

Result<std::string> exposition_of(const std::vector<Family>& families) {
  std::string text;
  std::set<std::string> known;
  for (const Family& family : families) {
    if (!is_metric_name(family.name)) {
      return refused(family.name, "Prometheus knows letters, digits, '_' and ':' in names");
    }
    if (!known.insert(family.name).second) return refused(family.name, "it comes twice");
    if (family.samples.empty()) continue;
    Result<std::string> samples = samples_text(family);
    if (!samples) return samples;
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", family.name,
                        escaped(family.help, false), name_of(family.type));
    text += *samples;
  }
  return text;
}

}  // namespace heddle::metrics
