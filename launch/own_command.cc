// Own words: see own_command.h.
#include "launch/own_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace heddle::launch {

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::vector<std::string> own_words(std::span<const std::string_view> without) {
  const std::vector<std::string> given = command_line();
  std::vector<std::string> words;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string_view option = std::string_view(given[i]).substr(0, given[i].find('='));
    if (std::find(without.begin(), without.end(), option) == without.end()) {
      words.push_back(given[i]);
    } else if (option.size() == given[i].size()) {
      ++i;  // its value
    }
  }
  words[0] = "heddle";
  return words;
}

// By its name where it has one, since the kernel names the process after the file.
std::string own_file() {
  constexpr const char* kSelf = "/proc/self/exe";
  std::error_code failed;
  const std::string file = std::filesystem::read_symlink(kSelf, failed);
  return !failed && std::filesystem::exists(file, failed) ? file : kSelf;
}

}  // namespace heddle::launch
