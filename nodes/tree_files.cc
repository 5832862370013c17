// See tree_files.h.
#include "nodes/tree_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace heddle::nodes {

std::string bytes_in(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string text_in(const std::filesystem::path& file) {
  const std::string text = bytes_in(file);
  return text.substr(0, text.find_last_not_of(" \n\t\r") + 1);
}

std::optional<double> number_in(const std::filesystem::path& file) {
  const std::string text = text_in(file);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> count_in(const std::filesystem::path& file) {
  const std::string text = text_in(file);
  uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator each(folder, failed), end; !failed && each != end;
       each.increment(failed)) {
    names.push_back(each->path().filename());
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return names;
}

std::string counted(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const std::string& text : texts) {
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& each) { return each.first == text; });
    if (found == counts.end()) {
      counts.emplace_back(text, 1);
    } else {
      ++found->second;
    }
  }
  std::string made;
  for (const auto& [text, count] : counts) {
    made += made.empty() ? "" : "; ";
    made += count == 1 ? text : fmt::format("{} x {}", count, text);
  }
  return made.empty() ? "none" : made;
}

}  // namespace heddle::nodes
