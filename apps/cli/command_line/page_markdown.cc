// PageMarkdown: see page_markdown.h.
#include "apps/cli/command_line/page_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace heddle::cli {
namespace {

constexpr const char* kHead = R"(# Commands

Made from the program by `heddle help --format markdown`; a test fails where they differ. Every
command prints its part with `--help`. See also [settings](settings.md) and
[exit statuses](exit_statuses.md).

)";

// A cell of a table.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string anchor(const Page& page) {
  std::string text = full_name(page);
  std::replace(text.begin(), text.end(), ' ', '-');
  return text;
}

std::string rows_markdown(const PageSection& section, const char* term) {
  std::string text = fmt::format("| {} | |\n|---|---|\n", term);
  for (const PageRow& row : section.rows) {
    text += fmt::format("| `{}` | {} |\n", cell(row.term), cell(markdown_escaped(row.text)));
  }
  return text + "\n";
}

// Examples without the indent that they have on a terminal.
std::string examples_markdown(const std::string& examples) {
  std::string text = "```sh\n";
  for (size_t from = 0; from <= examples.size();) {
    const size_t end = std::min(examples.find('\n', from), examples.size());
    std::string line = examples.substr(from, end - from);
    if (line.starts_with("  ")) line.erase(0, 2);
    text += line + "\n";
    from = end + 1;
  }
  return text + "```\n\n";
}

std::string index_markdown(const std::vector<Page>& pages) {
  std::string text;
  for (const PageSection& group : pages.front().commands) {
    text += fmt::format("**{}**\n\n| command | |\n|---|---|\n", group.title);
    for (const PageRow& command : group.rows) {
      for (const Page& page : pages) {
        const bool of_it = page.words == command.term || page.words.starts_with(command.term + " ");
        if (!of_it) continue;
        text += fmt::format("| [`{}`](#{}) | {} |\n", page.words, anchor(page),
                            cell(markdown_escaped(page.summary)));
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string markdown_escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '*' || letter == '<' || letter == '_') out += '\\';
    out += letter;
  }
  return out;
}

std::string page_markdown(const Page& page, int level) {
  std::string summary = page.summary;
  if (!summary.empty()) {
    summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  }
  const std::string marks(static_cast<size_t>(level), '#');
  std::string text =
      fmt::format("{} {}\n\n{}.\n\n```text\n", marks, full_name(page), markdown_escaped(summary));
  for (const std::string& usage : page.usage) text += usage + "\n";
  text += "```\n\n";
  for (const PageSection& section : page.commands) {
    text += rows_markdown(section, section.title.c_str());
  }
  for (const PageSection& section : page.options) {
    const bool arguments = section.title == "Arguments";
    std::string term = arguments ? "argument" : "option";
    if (!arguments && section.title != "Options") term += " (" + section.title + ")";
    text += rows_markdown(section, term.c_str());
  }
  if (!page.examples.empty()) text += examples_markdown(page.examples);
  for (const std::string& paragraph : page.paragraphs) {
    text += markdown_escaped(paragraph) + "\n\n";
  }
  if (!page.exit_statuses.empty()) {
    text += rows_markdown({"Exit status", page.exit_statuses}, "exit status");
  }
  return text;
}

std::string commands_markdown(const std::vector<Page>& pages) {
  std::string text = kHead + index_markdown(pages);
  for (const Page& page : pages) text += page_markdown(page, 2);
  text.pop_back();
  return text;
}

}  // namespace heddle::cli
