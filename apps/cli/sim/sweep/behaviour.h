// What tells whether another heddle would have given the same results: its version, the form of the
// results, and what its transport and collectives do with a small workload.
#pragma once

#include <string>

namespace heddle::cli {

// "0.1.0, results 3, behaviour 0123456789abcdef": equal for all builds of one source, on every
// machine, and other as soon as packets go other ways. Takes some milliseconds.
std::string behaviour_text();

}  // namespace heddle::cli
