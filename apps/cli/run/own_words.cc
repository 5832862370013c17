// Own words: see own_words.h.
#include "apps/cli/run/own_words.h"

#include <algorithm>
#include <fstream>

namespace heddle::cli {

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
  words[0] = "/proc/self/exe";
  return words;
}

}  // namespace heddle::cli
