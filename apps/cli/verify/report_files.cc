// See report_files.h. The lock goes with its process, however that ends.
#include "apps/cli/verify/report_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "acceptance/documents.h"
#include "apps/cli/verify/report_page.h"
#include "base/document.h"

namespace heddle::cli {
namespace {

Error cannot_write(const std::string& folder, ErrorCode code, const std::string& why,
                   const std::string& todo) {
  return {code, "cannot write a report to " + folder, why, todo};
}

bool is_synced(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  return file.valid() && fsync(file.number()) == 0;
}

// The old file or the new one is there, whatever happens meanwhile.
Result<void> replace_file(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  Result<void> written = write_text_file(part, text);
  if (written && !is_synced(part, O_WRONLY)) {
    written = fail(ErrorCode::kSystem, "cannot write " + path, std::strerror(errno),
                   "choose another folder");
  }
  std::error_code error;
  if (written) {
    std::filesystem::rename(part, path, error);
    if (!error) return {};
    written = fail(ErrorCode::kSystem, "cannot write " + path, error.message(),
                   "see who else uses the folder");
  }
  std::filesystem::remove(part, error);
  return written;
}

}  // namespace

Result<ReportFolder> ReportFolder::open(const std::string& folder) {
  Descriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!held.valid()) {
    return fail(cannot_write(folder, ErrorCode::kSystem, std::strerror(errno),
                             "give a folder where you may read and write"));
  }
  struct stat found {};
  if (fstat(held.number(), &found) == 0 && found.st_uid != geteuid()) {
    return fail(cannot_write(folder, ErrorCode::kInvalid, "it belongs to another user",
                             "give a folder of your own"));
  }
  if (flock(held.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(cannot_write(folder, ErrorCode::kInUse, "another test writes there now",
                             "wait until it has ended, or give another folder"));
  }
  return ReportFolder(std::filesystem::absolute(folder).string(), std::move(held));
}

Result<ReportFolder> ReportFolder::make(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(cannot_write(folder, ErrorCode::kSystem, error.message(), "give another folder"));
  }
  Result<ReportFolder> made = open(folder);
  if (!made || !std::filesystem::exists(folder + "/report.json", error)) return made;
  return fail(cannot_write(folder, ErrorCode::kInvalid, "there is a report already",
                           "give a new folder, or go on with that test: --resume " + folder));
}

Result<void> ReportFolder::write(const acceptance::Report& report) const {
  const Json document = acceptance::json_of(report);
  const std::vector<std::pair<const char*, std::string>> files = {
      {"report.json", document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"},
      {"report.html", report_page(document, "en")},
      {"report.txt", acceptance::text_of(report)},
      {"junit.xml", acceptance::junit_of(report)},
      {"ctrf.json",
       acceptance::ctrf_of(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"}};
  for (const auto& [name, text] : files) {
    if (auto written = replace_file(fmt::format("{}/{}", path_, name), text); !written) {
      return written;
    }
  }
  static_cast<void>(is_synced(path_, O_RDONLY | O_DIRECTORY));  // some file systems cannot
  return {};
}

Result<std::string> ReportFolder::write_page(const Json& document,
                                             const std::string& language) const {
  const std::string name = language == "en" ? "report.html" : "report." + language + ".html";
  if (auto written = replace_file(path_ + "/" + name, report_page(document, language)); !written) {
    return fail(written.error());
  }
  return name;
}

Result<void> ReportFolder::write_file(const std::string& name, const std::string& bytes) const {
  return replace_file(path_ + "/" + name, bytes);
}

bool ReportFolder::is_signed() const {
  std::error_code none;
  return std::filesystem::exists(path_ + "/" + acceptance::kSignatureName, none);
}

Result<void> ReportFolder::sign(const acceptance::PrivateKey& key) const {
  const std::string signature_file = fmt::format("{}/{}", path_, acceptance::kSignatureName);
  std::error_code error;
  std::filesystem::remove(signature_file, error);  // of the files as they were
  const auto put = [this](const char* name, const std::string& text) {
    return replace_file(fmt::format("{}/{}", path_, name), text);
  };
  if (auto written = put(acceptance::kSignerName, key.public_key().pem()); !written) return written;
  const Result<acceptance::Manifest> manifest = acceptance::manifest_of(path_);
  if (!manifest) return fail(manifest.error());
  const std::string text = acceptance::text_of(*manifest);
  const Result<std::string> signature = key.sign(text);
  if (!signature) return fail(signature.error());
  if (auto written = put(acceptance::kManifestName, text); !written) return written;
  return put(acceptance::kSignatureName, *signature);
}

}  // namespace heddle::cli
