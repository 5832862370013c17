// MatrixView: what a user asked to see of a recording's traffic, for those who show it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "insight/matrix.h"

namespace heddle::cli {

enum class MatrixUnit : uint8_t { kBytes, kCount, kTime };

struct MatrixView {
  insight::Matrix whole;
  std::vector<insight::MatrixPart> parts;  // where they are to be apart
  MatrixUnit unit = MatrixUnit::kBytes;
  std::string rows = "rank";  // or host, nic
  std::string parts_of;       // op, communicator, …; empty: not apart
  bool expected = false;      // shown beside what was measured, in text
  uint64_t calls = 0;
  uint64_t calls_without_formula = 0;

  // By the unit: delivered bytes, messages, nanoseconds. Of paths: sent bytes, segments.
  uint64_t measured(const insight::Cell& cell) const {
    // Which path delivered a byte nobody knows; what left on each is known.
    if (parts_of == "path") return unit == MatrixUnit::kCount ? cell.segments : cell.sent_bytes;
    if (unit == MatrixUnit::kCount) return cell.messages;
    return unit == MatrixUnit::kTime ? cell.nanos : cell.bytes;
  }
  // There are formulas for bytes only.
  bool has_expected() const {
    return unit == MatrixUnit::kBytes && calls > calls_without_formula && parts_of != "path";
  }
  bool has_sent() const { return unit == MatrixUnit::kBytes && whole.total().sent_bytes > 0; }
};

}  // namespace heddle::cli
