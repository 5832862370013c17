// The manifest of a folder that `heddle record gather` made: its clocks, and which file is of
// which.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "recordings/alignment.h"

namespace heddle::recordings {

inline constexpr const char* kManifestName = "manifest.json";
inline constexpr int kManifestVersion = 1;

nlohmann::ordered_json to_json(const Alignment& alignment);
// Into that folder. Errors: kSystem.
Result<void> write_manifest(const std::string& folder, const Alignment& alignment);
// Errors: kUnavailable, kInvalid, kVersion.
Result<Alignment> read_manifest(const std::string& path);

}  // namespace heddle::recordings
