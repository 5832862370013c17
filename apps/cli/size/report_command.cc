// See report_command.h.
#include "apps/cli/size/report_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/pages/page_pdf.h"
#include "apps/cli/plan/advise/advise_options.h"
#include "apps/cli/plan/advise/advised.h"
#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/sheet.h"
#include "apps/cli/size/sheet_report.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "base/printable.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size report job --topology fabric.toml
  heddle size report job --topology fabric.toml --report sheet.html
  heddle size report job --topology fabric.toml --report sheet.pdf --language ja
  heddle size report job --rate 400Gbit/s --cpu-per-gb 0.28 --json

GO names the change to try first: of the settings one whose gain is --least-gain at least with its
whole interval, then of the program, then of the hardware. NO-GO: there is none. Where the simulated
step is off the recorded one by more than --bound, there is no verdict, and the exit status is 1.)";

struct ReportOptions {
  AdviseSources sources{.recordings = {}, .topology = "", .rate = "100Gbit/s", .hosts = {}};
  SheetQuestion question;
  uint32_t bound_percent = params::size::kBoundPercent;
  std::string report;
  std::string language = "en";
  bool json = false;

  bool as_pdf() const { return report.ends_with(".pdf"); }
};

// A word of a command for a shell.
std::string word_text(const std::string& word) {
  const std::string plain = "-_./:,=+@%";
  const auto fine = [&plain](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 ||
           plain.find(each) != std::string::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), fine)) return word;
  std::string quoted = "'";
  for (const char each : printable(word)) quoted += each == '\'' ? "'\\''" : std::string(1, each);
  return quoted + "'";
}

// The options of heddle plan advise that ask the same of the same recording.
void name_words(const AdviseSources& sources, const ReportOptions& options,
                SheetQuestion& question) {
  for (const std::string& each : sources.recordings) {
    question.recordings += (question.recordings.empty() ? "" : " ") + word_text(each);
  }
  question.fabric = sources.topology.empty() ? " --rate " + word_text(sources.rate)
                                             : " --topology " + word_text(sources.topology);
  std::string& words = question.advice_words;
  std::string hosts;
  for (const std::string& each : sources.hosts) hosts += (hosts.empty() ? "" : ",") + each;
  if (!hosts.empty()) words += " --hosts " + word_text(hosts);
  if (sources.calls_per_step > 0)
    words += fmt::format(" --calls-per-step {}", sources.calls_per_step);
  const StepTransport usual;
  const StepTransport& transport = question.advice.transport;
  if (transport.paths != usual.paths) words += fmt::format(" --paths {}", transport.paths);
  if (transport.congestion != usual.congestion) words += " --cc " + transport.congestion;
  if (transport.selector != usual.selector) words += " --selector " + transport.selector;
  if (options.bound_percent != params::size::kBoundPercent) {
    words += fmt::format(" --bound {}", options.bound_percent);
  }
}

// What can be known before simulations that take minutes.
Result<void> check(const ReportOptions& options) {
  if (options.question.least_gain < planner::kLeastGain) {
    return fail(ErrorCode::kInvalid, "no trial shows a gain of this size",
                fmt::format("--least-gain is below {:.1f}%", 100 * planner::kLeastGain),
                "give more");
  }
  if (options.report.empty()) {
    if (options.language == "en") return {};
    return fail(ErrorCode::kInvalid, "cannot write a page in another language", "there is no page",
                "give --report FILE");
  }
  const std::filesystem::path folder = std::filesystem::path(options.report).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return fail(ErrorCode::kInvalid, "cannot write " + options.report,
                "there is no folder " + folder.string(), "make it, or give another path");
  }
  return options.as_pdf() ? check_browser() : Result<void>();
}

Result<void> write_sheet(const ReportOptions& options, const Json& document) {
  const std::string page = sheet_page(document, options.language);
  if (!options.as_pdf()) return write_text_file(options.report, page);
  const Result<std::string> pdf = pdf_of(page, [] { return interrupted() != 0; });
  return pdf ? write_text_file(options.report, *pdf) : fail(pdf.error());
}

Result<int> report_on(ReportOptions options) {
  if (Result<void> possible = check(options); !possible) return fail(possible.error());
  AdviseQuestion& advice = options.question.advice;
  advice.bound = options.bound_percent / 100.0;
  advice.fabrics = true;
  advice.every_seed = true;
  name_words(options.sources, options, options.question);
  const Result<RecordedSetting> setting = read_setting(options.sources);
  if (!setting) return fail(setting.error());
  catch_interrupts();
  const Result<Advised> advised = advise(*setting, advice);
  if (!advised) return fail(advised.error());
  const Sheet sheet = sheet_of(*setting, *advised, options.question);
  const Json document = sheet_json(sheet);
  print(options.json ? document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                     : sheet_text(sheet));
  if (!options.report.empty()) {
    if (Result<void> written = write_sheet(options, document); !written) {
      return fail(written.error());
    }
  }
  if (interrupted() != 0) return interrupted_exit_status();
  return advised->enough_evidence() && setting->whole ? kDone : kFoundWrong;
}

int run_report(const ReportOptions& options) {
  const Result<int> status = report_on(options);
  if (status) return *status;
  if (interrupted() != 0) return interrupted_exit_status();
  print_error(status.error());
  return kCouldNotRun;
}

void add_output(CLI::App& command, ReportOptions& options) {
  command.add_option("--report", options.report, "write the sheet as one page, .html or .pdf")
      ->type_name("FILE")
      ->check([](const std::string& text) -> std::string {
        if (text.ends_with(".html") || text.ends_with(".pdf")) return {};
        return "'" + text + "' ends in neither .html nor .pdf";
      });
  command
      .add_option("--language", options.language, "with --report: its words, English or Japanese")
      ->type_name(choices_text(sheet_languages()))
      ->check(one_of(sheet_languages()))
      ->capture_default_str();
  add_json_option(command, options.json);
}

}  // namespace

void add_size_report_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const report = group.add_subcommand(
      "report", "whether to change the network of a recorded job, on one page");
  report->footer(kExample + exit_status_help("the simulation does not reproduce the recording, or "
                                             "some of it could not be read",
                                             "could not run"));
  const auto options = std::make_shared<ReportOptions>();
  add_advise_sources(*report, options->sources);
  add_step_transport(*report, options->question.advice.transport);
  report->add_option("--seeds", options->question.advice.seeds, "simulations of each change")
      ->type_name("N")
      ->check(whole_number(2, 100))
      ->capture_default_str();
  report
      ->add_option("--bound", options->bound_percent,
                   "most per cent that the simulated step may be off the recorded one")
      ->type_name("N")
      ->check(whole_number(1, 1'000))
      ->capture_default_str();
  add_share(*report, "--least-gain", options->question.least_gain,
            "share of a step that is worth a trial");
  add_number(*report, "--cpu-per-gb", options->question.cpu_s_per_gbyte,
             "seconds of CPU for a GB by heddle, both ends together, as heddle perf prints them",
             {0, 100});
  add_output(*report, *options);
  report->callback(
      [options, &invocation] { invocation.run = [options] { return run_report(*options); }; });
}

}  // namespace heddle::cli
