// See report_command.h.
#include "apps/cli/size/report_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/pages/page_pdf.h"
#include "apps/cli/plan/advise/advise_options.h"
#include "apps/cli/plan/advise/advised.h"
#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/sheet.h"
#include "apps/cli/size/sheet_report.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size report job --topology fabric.toml
  heddle size report job --topology fabric.toml --report sheet.html
  heddle size report job --topology fabric.toml --report sheet.pdf --language ja
  heddle size report job --rate 400Gbit/s --cpu-per-gb 0.28 --json

GO names the change to try first: of the settings those that gain --least-gain with certainty, then
of the program, then of the hardware. NO-GO: none does. Where the simulated step is off the recorded
one by more than --bound, there is no verdict, and the exit status is 1.)";

struct ReportOptions {
  AdviseSources sources{.recordings = {}, .topology = "", .rate = "100Gbit/s", .hosts = {}};
  SheetQuestion question;
  uint32_t bound_percent = 15;
  std::string report;
  std::string language = "en";
  bool json = false;

  bool as_pdf() const { return report.ends_with(".pdf"); }
};

Result<void> write_sheet(const ReportOptions& options, const Json& document) {
  const std::string page = sheet_page(document, options.language);
  if (!options.as_pdf()) return write_text_file(options.report, page);
  const Result<std::string> pdf = pdf_of(page);
  return pdf ? write_text_file(options.report, *pdf) : fail(pdf.error());
}

Result<int> report_on(ReportOptions options) {
  if (options.as_pdf()) {
    if (Result<void> found = check_browser(); !found) return fail(found.error());
  }
  AdviseQuestion& advice = options.question.advice;
  advice.bound = options.bound_percent / 100.0;
  advice.fabrics = true;
  advice.every_seed = true;
  options.question.recording = options.sources.recordings.front();
  options.question.topology = options.sources.topology;
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
