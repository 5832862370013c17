// A fingerprint that is equal for builds of heddle with equal results: the version, the format of
// results, and the behavior of transport and collectives with a small workload.
#pragma once

#include <string>

namespace heddle::cli {

// "0.1.0, results 3, behaviour 0123456789abcdef": equal for all builds of one source, on every
// machine, and other as soon as packets take other routes. Takes some milliseconds.
std::string behaviour_text();

}  // namespace heddle::cli
