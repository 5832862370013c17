// Page: see page.h.
#include "apps/cli/command_line/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/option_text.h"
#include "apps/cli/command_line/value_types.h"

namespace heddle::cli {
namespace {

constexpr std::string_view kExamples = "Example:\n";
constexpr std::string_view kExitStatus = "Exit status: ";

std::vector<const CLI::App*> shown_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

// The section of that title, made where there is none.
PageSection& section_of(std::vector<PageSection>& sections, const std::string& title) {
  const auto known = std::find_if(sections.begin(), sections.end(),
                                  [&title](const auto& each) { return each.title == title; });
  if (known != sections.end()) return *known;
  return sections.emplace_back(PageSection{title, {}});
}

void add_options(const CLI::App& command, Page& page) {
  for (const CLI::Option* option : command.get_options()) {
    if (!is_shown(*option) || option->nonpositional()) continue;
    section_of(page.options, "Arguments").rows.push_back({usage_text(*option), doc_text(*option)});
  }
  const auto add = [&page](const CLI::Option& option) {
    section_of(page.options, option.get_group())
        .rows.push_back({usage_text(option), doc_text(option)});
  };
  // --help is listed after the options of the command.
  const CLI::Option* const help = command.get_help_ptr();
  for (const CLI::Option* option : command.get_options()) {
    if (is_shown(*option) && option->nonpositional() && option != help &&
        option->get_group() == "Options") {
      add(*option);
    }
  }
  if (help != nullptr) add(*help);
  for (const CLI::Option* option : command.get_options()) {
    if (is_shown(*option) && option->nonpositional() && option->get_group() != "Options") {
      add(*option);
    }
  }
}

// Of an option that a command with subcommands needs where none of these is named, CLI11 does not
// know that it is required; its text says so.
bool is_needed(const CLI::Option& option) {
  return option.get_required() || option.get_description().ends_with("(required)");
}

std::string usage_of(const CLI::App& command) {
  std::string usage = "heddle";
  if (const std::string words = words_of(command); !words.empty()) usage += " " + words;
  usage += " [OPTION]...";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional() || !is_needed(*option)) continue;
    const auto& letters = option->get_snames();
    usage += " " + (letters.empty() ? short_name(*option) : "-" + letters.front()) + " " +
             value_text(*option);
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!is_shown(*option) || option->nonpositional()) continue;
    if (option->get_type_name() == kProgramType) {
      usage += std::string(" -- ") + kProgramType;
      continue;
    }
    std::string text = usage_text(*option);
    if (!option->get_required()) text = "[" + text + "]";
    usage += " " + text + (takes_several(*option) ? "..." : "");
  }
  return usage;
}

void add_commands(const CLI::App& command, const std::string& before, Page& page) {
  for (const CLI::App* each : shown_commands(command)) {
    std::string title = each->get_group();
    // CLI11's own title of commands in no group.
    if (title == "Subcommands") title = "Commands";
    section_of(page.commands, title)
        .rows.push_back({before + each->get_name(), each->get_description()});
  }
}

// "0 done; 1 some of it is damaged; 2 could not run" in its parts.
std::vector<PageRow> exit_statuses(std::string_view text) {
  std::vector<PageRow> rows;
  while (!text.empty()) {
    const size_t end = std::min(text.find("; "), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    if (text.empty() && part.ends_with('.')) part.remove_suffix(1);
    const size_t space = std::min(part.find(' '), part.size());
    rows.push_back({std::string(part.substr(0, space)),
                    std::string(part.substr(std::min(space + 1, part.size())))});
  }
  return rows;
}

void add_footer(const std::string& footer, Page& page) {
  std::string_view rest = footer;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find("\n\n"), rest.size());
    std::string part(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 2, rest.size()));
    if (part.starts_with(kExamples)) {
      page.examples = part.substr(kExamples.size());
      continue;
    }
    std::replace(part.begin(), part.end(), '\n', ' ');
    if (part.starts_with(kExitStatus)) {
      page.exit_statuses = exit_statuses(std::string_view(part).substr(kExitStatus.size()));
    } else if (!part.empty()) {
      page.paragraphs.push_back(std::move(part));
    }
  }
}

void add_below(const CLI::App& command, std::vector<Page>& pages) {
  pages.push_back(page_of(command));
  for (const CLI::App* each : shown_commands(command)) add_below(*each, pages);
}

}  // namespace

std::string full_name(const Page& page) {
  return page.words.empty() ? "heddle" : "heddle " + page.words;
}

Page page_of(const CLI::App& command) {
  Page page{.words = words_of(command), .summary = command.get_description()};
  const bool is_group = command.get_require_subcommand_min() > 0;
  if (is_group) {
    page.usage.push_back(full_name(page) + " COMMAND [OPTION]... [ARGUMENT]...");
  } else {
    page.usage.push_back(usage_of(command));
  }
  const auto commands = shown_commands(command);
  if (!is_group && !commands.empty()) page.usage.push_back(full_name(page) + " COMMAND ...");
  add_commands(command, page.words.empty() ? "" : page.words + " ", page);
  add_options(command, page);
  add_footer(command.get_footer(), page);
  return page;
}

std::vector<Page> all_pages(const CLI::App& root) {
  std::vector<Page> pages;
  pages.push_back(page_of(root));
  // In the order of the groups on the program's own page.
  for (const PageSection& section : pages.front().commands) {
    for (const CLI::App* each : shown_commands(root)) {
      if (each->get_group() == section.title) add_below(*each, pages);
    }
  }
  return pages;
}

}  // namespace heddle::cli
