// LineTag: puts a tag before every line of a stream that comes in pieces, and gives out whole
// lines, so that those of several processes do not run into each other.
#pragma once

#include <string>
#include <string_view>

namespace heddle::launch {

class LineTag {
 public:
  explicit LineTag(std::string tag) : tag_(std::move(tag)) {}

  // The lines that are whole now, tagged. One that grows beyond 64 KiB is given out in parts.
  std::string feed(std::string_view piece);
  // The stream has ended: what is left, as a line.
  std::string finish();

 private:
  std::string tag_;
  std::string line_;  // what has come of the next one
};

}  // namespace heddle::launch
