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

std::string part_of(const std::string& path) { return path + ".part"; }

void remove_parts(const NamedTexts& files) {
  std::error_code none;
  for (const auto& [path, text] : files) std::filesystem::remove(part_of(path), none);
}

Result<void> write_part(const std::string& path, const std::string& text) {
  std::error_code none;
  if (std::filesystem::is_directory(std::filesystem::symlink_status(path, none))) {
    return fail(ErrorCode::kInvalid, "cannot write " + path, "it is a folder", "move it away");
  }
  if (auto written = write_text_file(part_of(path), text); !written) return written;
  if (is_synced(part_of(path), O_WRONLY)) return {};
  return fail(ErrorCode::kSystem, "cannot write " + path, std::strerror(errno),
              "choose another folder");
}

// Of each the old file or the new one is there, whatever happens meanwhile; an error before the
// first is replaced leaves all as they were.
Result<void> replace_files(const NamedTexts& files) {
  Result<void> done;
  for (const auto& [path, text] : files) {
    if (done) done = write_part(path, text);
  }
  for (const auto& [path, text] : files) {
    if (!done) break;
    std::error_code error;
    std::filesystem::rename(part_of(path), path, error);
    if (!error) continue;
    done = fail(ErrorCode::kSystem, "cannot write " + path, error.message(),
                "see who else uses the folder");
  }
  if (!done) remove_parts(files);
  return done;
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
  if (!made) return made;
  if (std::filesystem::exists(folder + "/report.json", error)) {
    return fail(cannot_write(folder, ErrorCode::kInvalid, "there is a report already",
                             "give a new folder, or go on with that test: --resume " + folder));
  }
  if (std::filesystem::is_empty(folder, error) && !error) return made;
  return fail(cannot_write(folder, ErrorCode::kInvalid,
                           error ? error.message() : "the folder is not empty",
                           "give a new folder: files of a report replace others of their names"));
}

Result<void> ReportFolder::write(const acceptance::Report& report) const {
  const Json document = acceptance::json_of(report);
  NamedTexts files = {
      {"report.json", document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"},
      {"report.html", report_page(document, "en")},
      {"report.txt", acceptance::text_of(report)},
      {"junit.xml", acceptance::junit_of(report)},
      {"ctrf.json",
       acceptance::ctrf_of(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"}};
  return replace(std::move(files), nullptr);
}

Result<void> ReportFolder::replace(NamedTexts files, const acceptance::PrivateKey* key) const {
  if (key != nullptr) {
    files.emplace_back(acceptance::kSignerName, key->public_key().pem());
    Result<acceptance::Manifest> manifest = acceptance::manifest_of(path_);
    if (!manifest) return fail(manifest.error());
    for (const auto& [name, text] : files) {
      manifest->erase(part_of(name));
      (*manifest)[name] = acceptance::sha256_text(text);
    }
    const std::string sums = acceptance::text_of(*manifest);
    const Result<std::string> signature = key->sign(sums);
    if (!signature) return fail(signature.error());
    files.emplace_back(acceptance::kManifestName, sums);
    files.emplace_back(acceptance::kSignatureName, *signature);
  }
  for (auto& [name, text] : files) name = fmt::format("{}/{}", path_, name);
  if (auto written = replace_files(files); !written) return written;
  static_cast<void>(is_synced(path_, O_RDONLY | O_DIRECTORY));  // some file systems cannot
  return {};
}

bool ReportFolder::is_signed() const {
  std::error_code none;
  return std::filesystem::exists(path_ + "/" + acceptance::kSignatureName, none);
}

Result<void> ReportFolder::check_signable(const std::string& key_file) const {
  std::error_code no_key;
  std::error_code no_folder;
  const std::filesystem::path key = std::filesystem::canonical(key_file, no_key);
  const std::filesystem::path folder = std::filesystem::canonical(path_, no_folder);
  if (!no_key && !no_folder && *key.lexically_relative(folder).begin() != "..") {
    return fail(ErrorCode::kInvalid, "cannot sign with " + key_file,
                "it is in the folder of the report, which others get",
                "move the key out of the folder; if others had the report, make a new key");
  }
  return acceptance::check_signable(path_);
}

}  // namespace heddle::cli
