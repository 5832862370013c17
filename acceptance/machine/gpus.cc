// See gpus.h.
#include "acceptance/machine/gpus.h"

#include <fmt/format.h>

#include <sstream>

#include "nodes/tree_files.h"

namespace heddle::acceptance {
namespace {

using nodes::counted;
using nodes::names_in;
using nodes::text_in;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool begins_with_digit(const std::string& text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar ...".
std::string driver_in(const std::filesystem::path& file) {
  std::istringstream words(text_in(file));
  for (std::string word; words >> word;) {
    if (begins_with_digit(word) && word.find('.') != std::string::npos) return word;
  }
  return {};
}

}  // namespace

std::vector<std::string> gpu_list_query() {
  return {"--query-gpu=name,driver_version", "--format=csv,noheader"};
}

GpuList gpus_of_rows(const std::string& rows) {
  GpuList found;
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    const size_t comma = line.rfind(',');  // a name may have commas
    if (comma == std::string::npos) continue;
    const std::string driver = trimmed(line.substr(comma + 1));
    const bool known = begins_with_digit(driver);
    if (!known && !driver.starts_with("[")) continue;  // a sentence: an error
    std::string model = trimmed(line.substr(0, comma));
    if (model.empty() || model.starts_with("[")) model = "unknown model";
    found.models.push_back(model);
    if (known) found.driver = driver;
  }
  return found;
}

GpuList gpus_of_driver(const std::filesystem::path& proc) {
  GpuList found;
  const std::filesystem::path folder = proc / "driver/nvidia";
  for (const std::string& name : names_in(folder / "gpus")) {
    std::istringstream lines(text_in(folder / "gpus" / name / "information"));
    std::string model = "unknown model";
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Model:")) model = trimmed(line.substr(6));
    }
    found.models.push_back(model);
  }
  found.driver = driver_in(folder / "version");
  return found;
}

std::string gpus_text(const GpuList& listed, size_t on_bus) {
  const size_t count = listed.models.size();
  if (count == 0 && on_bus == 0) return "none";
  if (count == 0) return fmt::format("{} on the bus that no driver lists", on_bus);
  std::string measured = counted(listed.models);
  if (!listed.driver.empty()) measured += ", driver " + listed.driver;
  if (on_bus > count) measured += fmt::format(", {} more on the bus", on_bus - count);
  return measured;
}

}  // namespace heddle::acceptance
