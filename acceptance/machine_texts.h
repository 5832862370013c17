// Machine texts: texts and documents that other machines send, bounded and printable for rows and
// pages.
#pragma once

#include <string>

#include "acceptance/report.h"

namespace heddle::acceptance {

// Its first kMostText characters (of UTF-8), and then a mark where there are more; what a terminal
// would obey is '?'.
std::string machine_text(const std::string& text);

// A document that another machine wrote; what is nested deeper than kMostDepth is left out of it,
// since it is copied with the stack. Discarded where it is none.
Json machine_document(const std::string& text);

// Whether it is a name as kernels and drivers give them: printable ASCII without a blank at either
// end, 1 to kMostNameBytes bytes.
bool is_machine_name(const std::string& text);

}  // namespace heddle::acceptance
