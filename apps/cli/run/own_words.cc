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
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    const std::string_view option = std::string_view(word).substr(0, word.find('='));
    if (std::find(without.begin(), without.end(), option) == without.end()) {
      words.push_back(word);
    } else if (option.size() == word.size()) {
      std::getline(file, word, '\0');
    }
  }
  words[0] = "/proc/self/exe";
  return words;
}

}  // namespace heddle::cli
