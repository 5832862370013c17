// MemberFiles: see member_files.h.
#include "launch/ranks/member_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace heddle::launch {
namespace {

// "COMMUNICATOR SIZE"; empty: none is there.
std::string text_of(const std::string& path) {
  std::array<char, 64> text{};
  std::ifstream file(path);
  file.getline(text.data(), text.size());
  return text.data();
}

}  // namespace

std::string MemberFiles::path_of(uint32_t number) const {
  return fmt::format("{}/member.{}", folder_, number);
}

bool MemberFiles::was_in(uint32_t number) const { return !text_of(path_of(number)).empty(); }

bool MemberFiles::agree(const std::vector<uint32_t>& numbers) const {
  if (numbers.empty()) return true;
  const std::string first = text_of(path_of(numbers.front()));
  return first.ends_with(fmt::format(" {}", numbers.size())) &&
         std::all_of(numbers.begin(), numbers.end(),
                     [&](uint32_t number) { return text_of(path_of(number)) == first; });
}

}  // namespace heddle::launch
