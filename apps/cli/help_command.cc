// `heddle help`: see help_command.h.
#include "apps/cli/help_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/page.h"
#include "apps/cli/command_line/page_man.h"
#include "apps/cli/command_line/page_markdown.h"
#include "apps/cli/command_line/page_text.h"
#include "apps/cli/command_line/settings_page.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/spelling.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/output.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle help lab run
  heddle help settings
  heddle help --format markdown -o commands.md
  heddle help --format man -o man1

With --format man and no COMMAND, -o names a folder, and every command's page is written there.

Exit status: 0 done; 2 could not run.)";

constexpr const char* kSettingsTopic = "settings";
constexpr const char* kExitStatusTopic = "exit-status";

struct HelpOptions {
  std::vector<std::string> words;
  std::string format = "text";
  std::string output;
};

Result<std::string> topic_text(const std::string& topic, const std::string& format) {
  if (topic == kExitStatusTopic) {
    if (format == "text") return exit_statuses_text();
    if (format == "markdown") return exit_statuses_markdown();
    return fail(ErrorCode::kInvalid, "cannot write a man page of exit-status",
                "each command's page has them", "give --format text or markdown");
  }
  if (format == "text") return settings_text();
  return format == "markdown" ? settings_markdown() : settings_man();
}

Result<std::string> command_text(const std::vector<Page>& pages, const HelpOptions& options) {
  const std::string words = fmt::format("{}", fmt::join(options.words, " "));
  std::vector<std::string> known;
  for (const Page& page : pages) {
    known.push_back(page.words);
    if (page.words != words) continue;
    if (options.format == "man") return page_man(page);
    return options.format == "markdown" ? page_markdown(page, 1) : help_text(page);
  }
  const std::string meant = nearest(words, known);
  return fail(
      ErrorCode::kInvalid, "no help is there", fmt::format("there is no command '{}'", words),
      meant.empty() ? "see 'heddle --help'" : fmt::format("did you mean 'heddle help {}'?", meant));
}

Result<void> write_man_pages(const std::vector<Page>& pages, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const Page& page : pages) {
    if (Result<void> written = write_output(folder + "/" + man_name(page) + ".1", page_man(page));
        !written) {
      return written;
    }
  }
  return {};
}

Result<void> print_help(const CLI::App& root, const HelpOptions& options) {
  const std::vector<Page> pages = all_pages(root);
  const bool of_all = options.words.empty();
  if (of_all && options.format == "man" && !options.output.empty()) {
    return write_man_pages(pages, options.output);
  }
  if (of_all && options.format == "markdown") {
    return write_output(options.output, commands_markdown(pages));
  }
  const std::string topic = options.words.size() == 1 ? options.words.front() : "";
  const bool is_topic = topic == kSettingsTopic || topic == kExitStatusTopic;
  const Result<std::string> text =
      is_topic ? topic_text(topic, options.format) : command_text(pages, options);
  return text ? write_output(options.output, *text) : fail(text.error());
}

}  // namespace

void add_help_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const help =
      root.add_subcommand("help", "print the help of a command, or the reference of all");
  help->footer(kExample);
  const auto options = std::make_shared<HelpOptions>();
  help->add_option("command", options->words, "a command, settings or exit-status")
      ->type_name(kCommandType);
  help->add_option("--format", options->format, "layout of the help")
      ->type_name("text|markdown|man")
      ->check(one_of({"text", "markdown", "man"}))
      ->capture_default_str();
  add_output_option(*help, options->output);
  help->callback([&root, options, &invocation] {
    invocation.run = [&root, options] {
      const Result<void> printed = print_help(root, *options);
      if (printed) return kDone;
      print_error(printed.error());
      return kCouldNotRun;
    };
  });
}

}  // namespace heddle::cli
