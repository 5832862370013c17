// A communication matrix for people and programs: a heat map of text, CSV, JSON.
#pragma once

#include <string>

#include "apps/cli/json.h"
#include "apps/cli/matrix/view.h"

namespace heddle::cli {

// Rows send, columns receive. Up to 16 parties with values, more as shades only. `colours`: a
// terminal that shows them.
std::string matrix_text(const MatrixView& view, bool colours);
// A line a pair that exchanged something, of all or of each part.
std::string matrix_csv(const MatrixView& view);
// Dense up to 1,024 parties, else triples of row, column and value.
Json matrix_json(const MatrixView& view);

// Quoted where it must be: names are a program's own and may hold what separates fields.
std::string csv_field(const std::string& name);
// "1.23M", "45.0 us"; for people.
std::string short_value(uint64_t value, MatrixUnit unit);
// "Bytes delivered", "Messages delivered", …
std::string view_title(const MatrixView& view);

}  // namespace heddle::cli
