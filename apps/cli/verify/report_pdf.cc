// See report_pdf.h. The browser's profile and its file lie in a temporary folder.
#include "apps/cli/verify/report_pdf.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "base/document.h"
#include "base/temporary_folder.h"
#include "lab/tool.h"

namespace heddle::cli {
namespace {

// Empty: none is on PATH.
std::string find_browser() {
  const char* const path = std::getenv("PATH");
  for (const char* const name : {"chromium", "chromium-browser", "google-chrome"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string file = folder + "/" + name;
      if (access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return "";
}

}  // namespace

Result<std::string> pdf_of(const std::string& page) {
  const std::string browser = find_browser();
  if (browser.empty()) {
    return fail(ErrorCode::kUnavailable, "cannot write a PDF",
                "there is no chromium, chromium-browser or google-chrome on PATH",
                "install the package chromium, or print the page from a browser");
  }
  const Result<TemporaryFolder> place = TemporaryFolder::make("heddle-pdf");
  if (!place) return fail(place.error());
  const std::string target = place->path() + "/report.pdf";
  // Chromium makes folders there whatever its profile's folder is.
  const std::string home = place->path() + "/home";
  const Result<std::string> printed =
      lab::run_tool({"env", "HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
                     "timeout", "-k", "2", "60", browser, "--headless", "--no-sandbox",
                     "--disable-gpu", "--user-data-dir=" + place->path() + "/profile",
                     "--no-pdf-header-footer", "--print-to-pdf=" + target, "file://" + page});
  if (!printed) return fail(printed.error());
  Result<std::string> pdf =
      read_text_file(target, "see whether " + browser + " prints other pages");
  if (pdf && pdf->rfind("%PDF-", 0) != 0) {
    return fail(ErrorCode::kSystem, "cannot write a PDF", browser + " wrote another file",
                "print the page from a browser");
  }
  return pdf;
}

}  // namespace heddle::cli
