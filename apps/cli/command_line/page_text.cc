// PageText: see page_text.h.
#include "apps/cli/command_line/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "apps/cli/command_line/params.h"

namespace heddle::cli {
namespace {

std::string rows_text(const PageSection& section, size_t term_width) {
  std::string text = section.title + ":\n";
  const size_t indent = term_width + 4;
  for (const PageRow& row : section.rows) {
    const bool fits = row.term.size() <= term_width;
    text += fmt::format("  {:<{}}", row.term, fits ? term_width + 2 : 0);
    if (!fits) text += fmt::format("\n{:{}}", "", indent);
    text += wrapped(row.text, indent) + "\n";
  }
  return text + "\n";
}

// One width for all sections, so that their texts stand below each other.
size_t term_width(const std::vector<PageSection>& sections) {
  size_t widest = 0;
  for (const PageSection& section : sections) {
    for (const PageRow& row : section.rows) {
      if (row.term.size() <= params::command_line::kWidestTerm)
        widest = std::max(widest, row.term.size());
    }
  }
  return widest;
}

std::string sections_text(const std::vector<PageSection>& sections) {
  std::string text;
  for (const PageSection& section : sections) text += rows_text(section, term_width(sections));
  return text;
}

// `gap` stands below the summary.
std::string head_text(const Page& page, const char* gap) {
  std::string text = wrapped(full_name(page) + ": " + page.summary, 2) + "\n" + gap;
  for (size_t i = 0; i < page.usage.size(); ++i) {
    text += (i == 0 ? "Usage: " : "       ") + wrapped(page.usage[i], 11, 73) + "\n";
  }
  return text + "\n";
}

}  // namespace

std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) continue;
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string help_text(const Page& page) {
  std::string text = head_text(page, "\n");
  text += sections_text(page.commands) + sections_text(page.options);
  if (!page.examples.empty()) text += "Examples:\n" + page.examples + "\n\n";
  for (const std::string& paragraph : page.paragraphs) text += wrapped(paragraph, 0) + "\n\n";
  if (!page.exit_statuses.empty()) {
    text += rows_text({"Exit status", page.exit_statuses}, 7);
  }
  text.pop_back();
  return text;
}

std::string short_help_text(const Page& page) {
  std::string text = head_text(page, "") + sections_text(page.commands);
  text.pop_back();  // without empty lines that are not needed it fits on a screen
  return text + fmt::format(
                    "Run '{0} COMMAND --help' for the options of a command, '{0} --help' for "
                    "examples.\n",
                    full_name(page));
}

}  // namespace heddle::cli
