// Spelling: which of the known words was meant by one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

// The number of letters to insert, remove, replace or swap with a neighbor to turn one word into
// the other (optimal string alignment distance).
size_t edit_distance(std::string_view a, std::string_view b);

// The word of `known` that is nearest to `word`: at most a third of its letters differ, or `word`
// is its beginning. Empty where none is near. Dashes in front do not count.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace heddle::cli
