// MemberFiles: how the ranks of an elastic run let its supervisor know which communicator they are
// in. Each has a file of its own (HEDDLE_MEMBER_FILE), and writes "COMMUNICATOR SIZE" there
// whenever it is in another one of all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::launch {

class MemberFiles {
 public:
  explicit MemberFiles(std::string folder) : folder_(std::move(folder)) {}

  std::string path_of(uint32_t number) const;
  // It has been in a communicator.
  bool was_in(uint32_t number) const;
  // They are all in one communicator, and no others are.
  bool agree(const std::vector<uint32_t>& numbers) const;

 private:
  std::string folder_;
};

}  // namespace heddle::launch
