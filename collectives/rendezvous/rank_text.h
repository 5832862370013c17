// Rank texts: what ranks write for one another where no store of heddle compares versions first
// (places, handles, seats of newcomers). The first word of each is "heddle" and the number of the
// rendezvous.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle::collectives {

std::string version_word();

// kVersion for a text of another version, which names the side to upgrade: this host, or `writer`
// ("the host of rank 3"). Nothing: it is of this version, or no such text.
std::optional<Error> version_error(const std::string& what, std::string_view text,
                                   const std::string& writer);

// For an error: cut, and without what a terminal would obey.
std::string quoted(std::string_view text);

}  // namespace heddle::collectives
