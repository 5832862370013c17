// What `heddle size capture` prints: histograms for a terminal, and one document of JSON.
#pragma once

#include <string>

#include "apps/cli/json.h"
#include "recordings/capture.h"

namespace heddle::cli {

std::string capture_text(const recordings::CaptureSizes& sizes);
Json capture_document(const std::string& file, const recordings::CaptureSizes& sizes);

}  // namespace heddle::cli
