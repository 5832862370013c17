// ReportFolder: the folder of an acceptance test's report, held while the test runs: the page,
// text, JSON, JUnit XML and CTRF.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "acceptance/report.h"
#include "acceptance/signature.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::cli {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

class ReportFolder {
 public:
  // A new or an empty one. Errors: kInvalid if there is anything in it; kInUse; kSystem.
  static Result<ReportFolder> make(const std::string& folder);
  // The folder of an earlier report. Errors: kInUse: a test still writes there; kSystem.
  static Result<ReportFolder> open(const std::string& folder);

  const std::string& path() const { return path_; }  // absolute

  // Writes report.html, report.txt, report.json, junit.xml and ctrf.json; each is replaced as a
  // whole. Errors: kSystem.
  Result<void> write(const acceptance::Report& report) const;

  // Replaces or adds files, by name and text. With a key it signs all that is then in the folder:
  // SHA256SUMS, its signature, and the public key. The signature is made and all is written under
  // other names before the first file is replaced. Errors: kSystem; as acceptance::manifest_of().
  Result<void> replace(NamedTexts files, const acceptance::PrivateKey* key) const;

  bool is_signed() const;
  // Whether a signature can cover the folder as it is, and the file of the key is outside of it.
  // Errors: as acceptance::check_signable(); kInvalid.
  Result<void> check_signable(const std::string& key_file) const;

 private:
  ReportFolder(std::string path, Descriptor held)
      : path_(std::move(path)), held_(std::move(held)) {}

  std::string path_;
  Descriptor held_;
};

}  // namespace heddle::cli
