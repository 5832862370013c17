// CaptureFile: a file of pcap or pcapng, read by libpcap. The library is loaded at run time, so
// that hosts without it run heddle, and packages do not depend on it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/nanos.h"
#include "base/result.h"

struct pcap;

namespace heddle::recordings {

struct CapturedFrame {
  Nanos at;  // since 1970
  uint64_t wire_bytes = 0;
  std::span<const std::byte> captured;  // until the next one is read
};

class CaptureFile {
 public:
  // Takes over `file`. Errors: kUnavailable (there is no libpcap), kInvalid (it is no capture).
  static Result<CaptureFile> open(std::FILE* file, const std::string& name);

  int link_type() const;  // as in link types of captures (LINKTYPE_*)
  uint32_t snapshot_bytes() const;

  enum class Next : uint8_t { kFrame, kEnd, kBroken };
  Next next(CapturedFrame& frame);
  std::string why_broken() const;

 private:
  struct Close {
    void operator()(pcap* handle) const;
  };
  explicit CaptureFile(pcap* handle) : handle_(handle) {}

  std::unique_ptr<pcap, Close> handle_;
};

}  // namespace heddle::recordings
