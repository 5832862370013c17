// See report_copies.h.
#include "apps/cli/verify/report_copies.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "acceptance/documents.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/pages/page_pdf.h"
#include "apps/cli/terminal.h"
#include "apps/cli/verify/report_page.h"
#include "lab/run.h"

namespace heddle::cli {
namespace {

constexpr const char* kEnglish = "en";

std::string language_of(const VerifyOptions& options) {
  return options.language.empty() ? kEnglish : options.language;
}

}  // namespace

Result<NamedTexts> report_copies(const Json& document, const std::string& language, bool pdf) {
  const std::string name = report_page_name(language);
  NamedTexts files = {{name, report_page(document, language)}};
  if (!pdf) return files;
  Result<std::string> printed =
      pdf_of(files.front().second, [] { return lab::noted_signal() != 0; });
  if (!printed) return fail(std::move(printed).error());
  files.emplace_back(name.substr(0, name.rfind('.')) + ".pdf", std::move(*printed));
  return files;
}

Result<void> check_copies(const VerifyOptions& options) {
  if (options.language.empty() && !options.pdf) return {};
  if (options.report.empty() && options.resume.empty()) {
    return fail(ErrorCode::kInvalid,
                options.pdf ? "cannot write a PDF" : "cannot write a page in another language",
                "there is no report", "give --report FOLDER");
  }
  return options.pdf ? check_browser() : Result<void>();
}

Result<void> write_copies(const VerifyOptions& options, const ReportFolder& folder,
                          const acceptance::Report& report) {
  if (options.language.empty() && !options.pdf) return {};
  const std::string language = language_of(options);
  const bool pdf = options.pdf && report.signal == 0;
  Result<NamedTexts> files = report_copies(acceptance::json_of(report), language, pdf);
  if (files) {
    const Result<void> written = folder.replace(*files, nullptr);
    if (!written) files = fail(written.error());
  }
  if (!files) {
    const std::string later = fmt::format(
        "report.html is written; for the rest: `heddle verify report {} --language {}{}`",
        options.report, language, options.pdf ? " --pdf" : "");
    return fail(files.error().code, "cannot write all pages of the report", files.error().message(),
                later);
  }
  for (const auto& [name, text] : *files) {
    if (options.json || name == report_page_name(kEnglish)) continue;
    print(fmt::format("report: {}/{}\n", options.report, name));
  }
  return {};
}

void add_copy_options(CLI::App& command, VerifyOptions& options) {
  command
      .add_option("--language", options.language,
                  "write the page in this language too: English or Japanese")
      ->type_name("en|ja")
      ->check(one_of(report_languages()));
  command.add_flag("--pdf", options.pdf, "write that page as PDF too, by Chromium");
}

}  // namespace heddle::cli
