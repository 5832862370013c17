// Reads a capture from an open stream: what read_capture() does with the file that it opens.
#pragma once

#include <cstdio>
#include <string>

#include "recordings/capture.h"

namespace heddle::recordings {

// Takes over `file`. Errors: those of read_capture().
Result<CaptureSizes> read_capture_stream(std::FILE* file, const std::string& name,
                                         const CaptureOptions& options);

}  // namespace heddle::recordings
