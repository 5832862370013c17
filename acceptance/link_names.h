// Link names: what rows call a link, and one direction of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::acceptance {

// The label of a link, by index, as topology::link_label() has it: "leaf0 - spine1", and
// "leaf0 - spine1 #1" of the second of parallel links.
using LinkLabel = std::function<std::string(uint32_t link)>;

// "leaf0 to spine1", and "leaf0 to spine1 #1" of parallel links: the direction of the link with
// this label from its first end, or to it.
std::string direction_name(const std::string& label, bool forward);

}  // namespace heddle::acceptance
