// Manifest: the files of a report's folder with their SHA-256, in the format of sha256sum, so that
// `sha256sum -c SHA256SUMS` checks it too. A signature covers its text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::acceptance {

inline constexpr const char* kManifestName = "SHA256SUMS";
inline constexpr const char* kSignatureName = "SHA256SUMS.sig";
inline constexpr const char* kSignerName = "SHA256SUMS.pub";  // the signer's public key

// SHA-256 in hexadecimal by path in the folder: "report.html", "recordings/rank0".
using Manifest = std::map<std::string, std::string>;
// In a survey the sum of what no manifest can list: a link or another thing that is no file, or a
// name with control characters or a backslash.
inline constexpr const char* kNoFile = "";

// Of all files in the folder and below, but for the manifest and its signature.
// Errors: kInvalid for what a survey would give kNoFile, or for folders nested deeper than 64;
// kSystem with the path of what cannot be read.
Result<Manifest> manifest_of(const std::string& folder);
// The same with what is no file. Errors: as manifest_of(), but for that.
Result<Manifest> survey_of(const std::string& folder);
// Whether manifest_of() would list the folder, without reading files. Errors: the same.
Result<void> check_signable(const std::string& folder);

std::string text_of(const Manifest& manifest);
// Errors: kInvalid for a line that sha256sum would not write.
Result<Manifest> parse_manifest(const std::string& text);

// What is not as it was listed; paths in order.
struct ManifestDiff {
  std::vector<std::string> changed;
  std::vector<std::string> missing;
  std::vector<std::string> added;

  bool empty() const { return changed.empty() && missing.empty() && added.empty(); }
};
ManifestDiff compare_manifests(const Manifest& listed, const Manifest& found);

// SHA-256 of bytes, in hexadecimal.
std::string sha256_text(const std::string& bytes);

}  // namespace heddle::acceptance
