// A communication matrix for people and programs: a heat map of text, CSV, JSON.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/service/control.h"
#include "insight/matrix.h"

namespace heddle::cli {

enum class MatrixUnit : uint8_t { kBytes, kCount };

// Rows send, columns receive. Up to 16 parties with values, more as shades only. `colours`: a
// terminal that shows them.
std::string matrix_text(const insight::Matrix& matrix, MatrixUnit unit, bool colours);
// A line a pair that exchanged something: from,to,bytes,messages.
std::string matrix_csv(const insight::Matrix& matrix);
// Dense up to 1,024 parties, else triples of row, column and value.
Json matrix_json(const insight::Matrix& matrix, MatrixUnit unit);

}  // namespace heddle::cli
