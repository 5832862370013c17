// ReportFolder: the folder of an acceptance test's report, held while the test runs: the page,
// text, JSON, JUnit XML and CTRF.
#pragma once

#include <string>
#include <utility>

#include "acceptance/report.h"
#include "acceptance/signature.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::cli {

class ReportFolder {
 public:
  // A new one. Errors: kInvalid if there is a report already; kInUse; kSystem.
  static Result<ReportFolder> make(const std::string& folder);
  // The folder of an earlier report. Errors: kInUse: a test still writes there; kSystem.
  static Result<ReportFolder> open(const std::string& folder);

  const std::string& path() const { return path_; }  // absolute

  // Writes report.html, report.txt, report.json, junit.xml and ctrf.json; each is replaced as a
  // whole. Errors: kSystem.
  Result<void> write(const acceptance::Report& report) const;

  // Writes the page of a report's document in a language, and returns its name: "report.html" in
  // English, "report.ja.html" in Japanese. Errors: kSystem.
  Result<std::string> write_page(const acceptance::Json& document,
                                 const std::string& language) const;

  // Replaces or adds a file. Errors: kSystem.
  Result<void> write_file(const std::string& name, const std::string& bytes) const;

  bool is_signed() const;
  // Signs all files that are there: SHA256SUMS, its signature, and the public key. Without all of
  // it there is no signature. Errors: as acceptance::manifest_of().
  Result<void> sign(const acceptance::PrivateKey& key) const;

 private:
  ReportFolder(std::string path, Descriptor held)
      : path_(std::move(path)), held_(std::move(held)) {}

  std::string path_;
  Descriptor held_;
};

}  // namespace heddle::cli
