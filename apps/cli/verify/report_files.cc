// See report_files.h.
#include "apps/cli/verify/report_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "acceptance/documents.h"
#include "apps/cli/pages/pages.h"
#include "base/document.h"

namespace heddle::cli {

Result<void> make_report_folder(const std::string& folder) {
  const std::string what = "cannot write a report to " + folder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kSystem, what, error.message(), "give another folder");
  if (!std::filesystem::exists(folder + "/report.json", error)) return {};
  return fail(ErrorCode::kInvalid, what, "there is a report already", "give a new folder");
}

Result<void> write_report(const acceptance::Report& report, const std::string& folder) {
  const Json document = acceptance::json_of(report);
  const std::string title = fmt::format("Acceptance test of {}", report.fabric);
  const std::vector<std::pair<const char*, std::string>> files = {
      {"report.html", fill_page(kVerifyPage, title, document)},
      {"report.txt", acceptance::text_of(report)},
      {"report.json", document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"},
      {"junit.xml", acceptance::junit_of(report)},
      {"ctrf.json",
       acceptance::ctrf_of(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"}};
  for (const auto& [name, text] : files) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (auto written = write_text_file(path, text); !written) {
      std::error_code none;
      std::filesystem::remove(path, none);  // half of it would mislead
      return written;
    }
  }
  return {};
}

}  // namespace heddle::cli
