// See rewrite_command.h.
#include "apps/cli/verify/rewrite_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "acceptance/earlier.h"
#include "acceptance/report_document.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/terminal.h"
#include "apps/cli/verify/report_copies.h"
#include "apps/cli/verify/report_files.h"
#include "apps/cli/verify/report_page.h"
#include "lab/run.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle verify report rack7 --language ja
  heddle verify report rack7 --language ja --pdf
  heddle verify report rack7 --language ja --sign signer.key

Nothing is measured. The page is rack7/report.ja.html; the one in English stays.
--pdf prints it with Chromium, which must be installed, to rack7/report.ja.pdf.)";

struct RewriteOptions {
  std::string folder;
  std::string language = "en";
  std::string sign;
  bool pdf = false;
};

Result<std::string> rewrite(const RewriteOptions& options) {
  std::optional<acceptance::PrivateKey> key;
  if (!options.sign.empty()) {
    Result<acceptance::PrivateKey> read = acceptance::PrivateKey::read(options.sign);
    if (!read) return fail(std::move(read).error());
    key = std::move(*read);
  }
  const Result<ReportFolder> folder = ReportFolder::open(options.folder);
  if (!folder) return fail(folder.error());
  if (key) {
    if (auto fine = folder->check_signable(options.sign); !fine) return fail(fine.error());
  }
  const Result<acceptance::Json> document = acceptance::read_report(options.folder);
  if (!document) return fail(document.error());
  if (auto whole = acceptance::report_of(*document); !whole) return fail(whole.error());
  if (folder->is_signed() && !key) {
    return fail(ErrorCode::kInvalid, "cannot add a page to " + options.folder,
                "it is signed, and its signature would no longer fit",
                "sign it again with --sign KEY, or copy the folder without SHA256SUMS.sig");
  }
  Result<NamedTexts> files = report_copies(*document, options.language, options.pdf);
  if (!files) return fail(std::move(files).error());
  const std::string name = files->back().first;
  if (lab::noted_signal() != 0) return name;
  auto written = folder->replace(std::move(*files), key ? &*key : nullptr);
  return written ? Result<std::string>(name) : fail(written.error());
}

int run_rewrite(const RewriteOptions& options) {
  lab::note_signals();
  const Result<std::string> name = rewrite(options);
  if (lab::noted_signal() != 0) return 128 + lab::noted_signal();
  if (!name) {
    print_error(name.error());
    return kCouldNotRun;
  }
  print(fmt::format("report: {}/{}\n", options.folder, *name));
  return kDone;
}

}  // namespace

void add_rewrite_command(CLI::App& verify, Invocation& invocation) {
  CLI::App* const command =
      verify.add_subcommand("report", "write the page of a report again, in another language");
  command->footer(kExample + exit_status_help("", "could not write it"));
  const auto options = std::make_shared<RewriteOptions>();
  command->add_option("folder", options->folder, "the folder of --report")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--language", options->language, "words of the page: English or Japanese")
      ->type_name("en|ja")
      ->check(one_of(report_languages()))
      ->capture_default_str();
  command->add_option("--sign", options->sign, "sign the report with this Ed25519 key, a PEM file")
      ->type_name("FILE");
  command->add_flag("--pdf", options->pdf, "write it as PDF too, by Chromium");
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_rewrite(*options); }; });
}

}  // namespace heddle::cli
