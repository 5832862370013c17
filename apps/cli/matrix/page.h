// A communication matrix to look at: a page of HTML that needs nothing else, and a drawing.
#pragma once

#include <string>

#include "apps/cli/matrix/view.h"

namespace heddle::cli {

// All, and each part to choose from; zoom, values under the pointer, log scale, by host.
std::string matrix_page(const MatrixView& view, const std::string& title);
// The whole matrix; labels thin out where there are many parties.
std::string matrix_svg(const MatrixView& view, const std::string& title);

}  // namespace heddle::cli
