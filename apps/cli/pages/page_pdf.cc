// See page_pdf.h. The page, the browser's profile and its file lie in a temporary folder.
#include "apps/cli/pages/page_pdf.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "acceptance/limited_program.h"
#include "apps/cli/params.h"
#include "base/document.h"
#include "base/temporary_folder.h"
#include "lab/tool.h"

namespace heddle::cli {
namespace {

constexpr const char* kByHand = "print the page from a browser";

// Empty: none is on PATH.
std::string find_browser() {
  for (const char* const name : {"chromium", "chromium-browser", "google-chrome"}) {
    std::string found = lab::find_program(name);
    if (!found.empty()) return found;
  }
  return "";
}

Unexpected no_pdf(const std::string& why, const std::string& todo = kByHand) {
  return fail(ErrorCode::kSystem, "cannot write a PDF", why, todo);
}

// RFC 3986, section 2.1: '%41' in a name of a folder would be an 'A'.
std::string file_address(const std::string& path) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-";
  std::string address = "file://";
  for (const char each : path) {
    address += kPlain.find(each) == std::string_view::npos
                   ? fmt::format("%{:02X}", static_cast<unsigned char>(each))
                   : std::string(1, each);
  }
  return address;
}

std::vector<std::string> words_of(const std::string& browser, const std::string& place) {
  std::vector<std::string> words = {browser,
                                    "--headless",
                                    "--disable-gpu",
                                    "--no-first-run",
                                    "--disable-background-networking",
                                    "--no-pdf-header-footer"};
  if (geteuid() == 0) words.emplace_back("--no-sandbox");  // it starts for root in no other way
  words.push_back("--user-data-dir=" + place + "/profile");
  words.push_back("--print-to-pdf=" + place + "/report.pdf");
  words.push_back(file_address(place + "/report.html"));
  return words;
}

}  // namespace

Result<void> check_browser() {
  if (!find_browser().empty()) return {};
  return fail(ErrorCode::kUnavailable, "cannot write a PDF",
              "there is no chromium, chromium-browser or google-chrome on PATH",
              "install the package chromium, or print the page from a browser");
}

Result<std::string> pdf_of(const std::string& html, const std::function<bool()>& interrupted) {
  if (auto found = check_browser(); !found) return fail(found.error());
  const std::string browser = find_browser();
  const Result<TemporaryFolder> place = TemporaryFolder::make("heddle-pdf");
  if (!place) return fail(place.error());
  if (auto put = write_text_file(place->path() + "/report.html", html); !put) {
    return fail(put.error());
  }
  // Chromium makes folders there whatever its profile's folder is.
  const std::string home = place->path() + "/home";
  const Result<acceptance::ProgramEnd> end = acceptance::run_limited(
      {words_of(browser, place->path()),
       {{"HOME", home}, {"XDG_CACHE_HOME", home}, {"XDG_CONFIG_HOME", home}},
       params::kBrowserTime,
       interrupted});
  if (!end) return fail(end.error());
  if (end->interrupted) return no_pdf("it was interrupted");
  if (end->late) return no_pdf(browser + " took more than 60 s");
  if (end->exit_status != 0) {
    const std::string status = fmt::format("{} ended with status {}", browser, end->exit_status);
    return no_pdf(end->last_line.empty() ? status : status + ": " + end->last_line);
  }
  std::error_code none;
  const std::string target = place->path() + "/report.pdf";
  if (!std::filesystem::exists(target, none)) {
    return no_pdf(browser + " wrote no file",
                  "set TMPDIR to a folder below $HOME, since a browser of a snap package cannot "
                  "write to /tmp; or print the page from a browser");
  }
  Result<std::string> pdf = read_text_file(target, kByHand);
  if (pdf && pdf->rfind("%PDF-", 0) != 0) return no_pdf(browser + " wrote another file");
  return pdf;
}

}  // namespace heddle::cli
