// See report_commands.h; what they say is made in acceptance/report_diff.h.
#include "apps/cli/verify/report_commands.h"

#include <memory>
#include <string>
#include <vector>

#include "acceptance/report_baseline.h"
#include "acceptance/report_diff.h"
#include "acceptance/report_document.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/output.h"
#include "apps/cli/terminal.h"
#include "topology/quantity.h"

namespace heddle::cli {
namespace {

constexpr const char* kDiffExample = R"(Example:
  heddle verify diff rack7-monday rack7-friday
  heddle verify diff --tolerance 25% rack7-monday rack7-friday --json

Compares verdicts, rows, figures of pairs and all-reduces, and facts of hosts.)";

constexpr const char* kBaselineExample = R"(Example:
  heddle verify baseline rack7-1 rack7-2 rack7-3 -o rack7.toml
  heddle verify --hosts node1,node2,node3 --expect rack7.toml

Expectations are the worst that these reports have, less the margin.)";

struct DiffOptions {
  std::string before;
  std::string after;
  std::string tolerance = "10%";
  bool json = false;
};

struct BaselineOptions {
  std::vector<std::string> reports;
  std::string margin = "10%";
  std::string output;
};

CLI::Validator share_value() {
  return {[](const std::string& text) -> std::string {
            const auto share = topology::parse_share(text);
            return share && *share < 1'000'000 ? "" : "write a share below 100%, as 10%";
          },
          ""};
}

double share_of(const std::string& text) { return topology::parse_share(text).value_or(0) / 1e6; }

int could_not(const Error& error) {
  print_error(error);
  return kCouldNotRun;
}

int run_diff(const DiffOptions& options) {
  const Result<acceptance::Json> before = acceptance::read_report(options.before);
  if (!before) return could_not(before.error());
  const Result<acceptance::Json> after = acceptance::read_report(options.after);
  if (!after) return could_not(after.error());
  const Result<acceptance::ReportDiff> diff =
      acceptance::compare_reports(*before, *after, share_of(options.tolerance));
  if (!diff) return could_not(diff.error());
  // In ASCII: a terminal obeys control characters above it, too.
  print(options.json ? acceptance::json_of(*diff).dump(2, ' ', true) + "\n"
                     : acceptance::text_of(*diff));
  return acceptance::is_worse(*diff) ? kFoundWrong : kDone;
}

int run_baseline(const BaselineOptions& options) {
  std::vector<acceptance::Json> reports;
  for (const std::string& path : options.reports) {
    Result<acceptance::Json> report = acceptance::read_report(path);
    if (!report) return could_not(report.error());
    reports.push_back(std::move(*report));
  }
  const Result<std::string> text = acceptance::baseline_of(reports, share_of(options.margin));
  if (!text) return could_not(text.error());
  const Result<void> written = write_output(options.output, *text);
  return written ? kDone : could_not(written.error());
}

}  // namespace

void add_report_commands(CLI::App& verify, Invocation& invocation) {
  CLI::App* const diff = verify.add_subcommand("diff", "compare two reports of a fabric");
  diff->footer(kDiffExample + exit_status_help("something is worse", "could not run"));
  const auto differing = std::make_shared<DiffOptions>();
  diff->add_option("before", differing->before, "report: a folder or report.json")
      ->type_name("OLD")
      ->required();
  diff->add_option("after", differing->after, "a later one")->type_name("NEW")->required();
  diff->add_option("--tolerance", differing->tolerance, "a figure may change by this share")
      ->type_name("SHARE")
      ->check(share_value())
      ->capture_default_str();
  add_json_option(*diff, differing->json);
  diff->callback(
      [differing, &invocation] { invocation.run = [differing] { return run_diff(*differing); }; });

  CLI::App* const baseline =
      verify.add_subcommand("baseline", "make expectations of earlier reports");
  baseline->footer(kBaselineExample + exit_status_help("", "could not run"));
  const auto made = std::make_shared<BaselineOptions>();
  baseline->add_option("reports", made->reports, "folders or report.json")
      ->type_name("REPORT")
      ->required();
  baseline->add_option("--margin", made->margin, "allow figures that are worse by this share")
      ->type_name("SHARE")
      ->check(share_value())
      ->capture_default_str();
  add_output_option(*baseline, made->output);
  baseline->callback(
      [made, &invocation] { invocation.run = [made] { return run_baseline(*made); }; });
}

}  // namespace heddle::cli
