// See cpio.h.
#include "lab/vm/cpio.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <iterator>

namespace heddle::lab::vm {

void Cpio::add_folder(std::string_view name) { add(name, {}, S_IFDIR | 0755); }

void Cpio::add_file(std::string_view name, std::string_view content, bool executable) {
  add(name, content, S_IFREG | (executable ? 0755 : 0644));
}

std::string Cpio::finish() {
  add("TRAILER!!!", {}, 0);
  return std::move(bytes_);
}

// A header of 13 numbers of 8 hexadecimal digits, the name with its zero byte, the content; name
// and content end at a multiple of 4.
void Cpio::add(std::string_view name, std::string_view content, uint32_t mode) {
  const uint32_t links = S_ISDIR(mode) ? 2 : 1;
  const uint32_t fields[] = {++entries_,
                             mode,
                             0,
                             0,
                             links,
                             0,
                             static_cast<uint32_t>(content.size()),
                             0,
                             0,
                             0,
                             0,
                             static_cast<uint32_t>(name.size() + 1),
                             0};
  bytes_ += "070701";
  for (const uint32_t field : fields) fmt::format_to(std::back_inserter(bytes_), "{:08X}", field);
  bytes_ += name;
  bytes_ += '\0';
  pad();
  bytes_ += content;
  pad();
}

void Cpio::pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0'); }

}  // namespace heddle::lab::vm
