// Fetched recordings: what a machine packed of its ranks' recordings, unpacked so that nothing but
// recordings comes out of it, and only into the folder that is meant. Private to
// fabrics/machines.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "acceptance/params.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

struct UnpackLimits {
  uint64_t bytes = params::kMostRecordingBytes;  // of all files, with their holes
  size_t files = params::kMostRecordingFiles;    // and folders, links, devices
  Nanos time = params::kReadTime;
};

// Unpacks an archive (tar, gzip) into a new folder within `folder`, and moves the regular files
// "*.heddle" at its top from there into `folder`; the rest is removed. No file of `folder` is
// replaced: one of the same name with other contents gets `machine` before its name, and one with
// the same contents, as of machines with a common disk, is dropped. Errors: kSystem where tar
// fails, or the limits are exceeded; kCancelled.
Result<void> unpack_recordings(const std::string& archive, const std::string& machine,
                               const std::string& folder, const UnpackLimits& limits,
                               const std::function<bool()>& interrupted);

}  // namespace heddle::acceptance
