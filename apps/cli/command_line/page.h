// Page: all that is said of one command, taken from the parser. Help on a terminal, the man pages
// and docs/reference/commands.md are three layouts of it.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

namespace heddle::cli {

struct PageRow {
  std::string term;  // "-p, --port PORT", "HOST[:PORT]", "lab run"
  std::string text;
};

// Rows under one title: "Arguments", "Options", "Measure".
struct PageSection {
  std::string title;
  std::vector<PageRow> rows;
};

struct Page {
  std::string words;    // "lab run"; empty for the program itself
  std::string summary;  // one line without a period
  std::vector<std::string> usage;
  std::vector<PageSection> commands;
  std::vector<PageSection> options;     // arguments too
  std::string examples;                 // lines as they are
  std::vector<std::string> paragraphs;  // prose without line ends
  std::vector<PageRow> exit_statuses;   // "0", "done"
};

// "heddle lab run".
std::string full_name(const Page& page);

// A command's page. The footer of a command holds its examples, behind a line "Example:", then
// paragraphs, then a paragraph "Exit status: 0 done; 1 ...; 2 ...", with empty lines between.
Page page_of(const CLI::App& command);

// The program and every command below it that is shown, in the order of the help.
std::vector<Page> all_pages(const CLI::App& root);

}  // namespace heddle::cli
