// MatrixView: what a user asked to see of a recording's traffic, for those who show it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "insight/matrix.h"

namespace heddle::cli {

enum class MatrixUnit : uint8_t { kBytes, kCount, kTime };
// What is counted: what arrived, what left as payload, or what was on the wire.
enum class MatrixCount : uint8_t { kDelivered, kSent, kWire };

struct MatrixView {
  insight::Matrix whole;
  std::vector<insight::MatrixPart> parts;  // where they are to be apart
  MatrixUnit unit = MatrixUnit::kBytes;
  MatrixCount counted = MatrixCount::kDelivered;
  std::string rows = "rank";  // or host, nic
  std::string parts_of;       // op, communicator, …; empty: not apart
  bool expected = false;      // shown beside what was measured, in text
  bool wire = false;          // likewise
  uint64_t calls = 0;
  uint64_t calls_without_formula = 0;
  uint64_t dropped_events = 0;  // older ones, for which there was no room any more
  Json fabric;                  // of fabric_json(), for a page; null: none was given

  // By the unit and what is counted: bytes, messages or packets, nanoseconds.
  uint64_t measured(const insight::Cell& cell) const {
    if (unit == MatrixUnit::kTime) return cell.nanos;
    const bool count = unit == MatrixUnit::kCount;
    if (counted == MatrixCount::kDelivered) return count ? cell.messages : cell.bytes;
    // Memory that ranks share is a path as well.
    const bool memory = parts_of == "path";
    if (count) return cell.packets + (memory ? cell.memory_messages : 0);
    const uint64_t left = counted == MatrixCount::kWire ? cell.wire_bytes : cell.sent_bytes;
    return left + (memory ? cell.memory_bytes : 0);
  }
  // There are formulas for bytes only, and none for paths.
  bool has_expected() const {
    return unit == MatrixUnit::kBytes && calls > calls_without_formula && parts_of != "path";
  }
  bool has_sent() const { return unit == MatrixUnit::kBytes && whole.total().sent_bytes > 0; }
  bool has_wire() const { return unit == MatrixUnit::kBytes && whole.total().wire_bytes > 0; }
};

}  // namespace heddle::cli
