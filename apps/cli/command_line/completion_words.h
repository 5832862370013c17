// Completion words: the candidates for the word at the cursor, from the tree of commands and from
// existing labs, their hosts, and settings.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

namespace heddle::cli {

struct Completions {
  std::vector<std::pair<std::string, std::string>> words;  // the whole word, and what it is
  bool files = false;                                      // and names of files
  bool folders = false;                                    // and names of folders
  bool hosts = false;                                      // and hosts that the shell knows
  bool programs = false;                                   // and programs of PATH
  bool open = false;                                       // the word goes on: no space behind it
};

// `words` is the command line without the program's name; the last is the one to complete.
Completions complete(CLI::App& root, const std::vector<std::string>& words);

// A line for each word, a tab between it and what it is; then lines ":files", ":open" and so on.
std::string completions_text(const Completions& completions);

}  // namespace heddle::cli
