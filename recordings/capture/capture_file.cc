// See capture_file.h.
#include "recordings/capture/capture_file.h"

#include <dlfcn.h>
#include <pcap/pcap.h>

#include <algorithm>

namespace heddle::recordings {
namespace {

// What libpcap calls raw IP, and its number in files.
constexpr int kRawIpHere = DLT_RAW;
constexpr int kRawIpInFiles = 101;

// Times beyond are not of this century; a file may have any.
constexpr int64_t kLastSecond = 9'000'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

// The functions of libpcap that are used.
struct PcapLibrary {
  decltype(&pcap_fopen_offline_with_tstamp_precision) open = nullptr;
  decltype(&pcap_next_ex) next = nullptr;
  decltype(&pcap_datalink) link_type = nullptr;
  decltype(&pcap_snapshot) snapshot = nullptr;
  decltype(&pcap_geterr) error = nullptr;
  decltype(&pcap_close) close = nullptr;
  std::string why_not;  // empty: loaded
};

template <typename Function>
void find(void* library, const char* name, Function& to, std::string& why_not) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  if (to == nullptr && why_not.empty()) why_not = std::string("it has no function ") + name;
}

PcapLibrary load_library() {
  PcapLibrary made;
  void* library = dlopen("libpcap.so.1", RTLD_NOW | RTLD_LOCAL);
  // Debian's name.
  if (library == nullptr) library = dlopen("libpcap.so.0.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    made.why_not = why == nullptr ? "libpcap cannot be loaded" : why;
    return made;
  }
  find(library, "pcap_fopen_offline_with_tstamp_precision", made.open, made.why_not);
  find(library, "pcap_next_ex", made.next, made.why_not);
  find(library, "pcap_datalink", made.link_type, made.why_not);
  find(library, "pcap_snapshot", made.snapshot, made.why_not);
  find(library, "pcap_geterr", made.error, made.why_not);
  find(library, "pcap_close", made.close, made.why_not);
  return made;
}

const PcapLibrary& library() {
  static const PcapLibrary loaded = load_library();
  return loaded;
}

Nanos time_of(const timeval& at) {
  const int64_t whole = std::clamp<int64_t>(at.tv_sec, 0, kLastSecond);
  // Asked for so, libpcap has nanoseconds in this field.
  const int64_t part = std::clamp<int64_t>(at.tv_usec, 0, kNanosPerSecond - 1);
  return nanos(whole * kNanosPerSecond + part);
}

}  // namespace

void CaptureFile::Close::operator()(pcap* handle) const { library().close(handle); }

Result<CaptureFile> CaptureFile::open(std::FILE* file, const std::string& name) {
  const auto close = [file] {
    if (file != stdin) std::fclose(file);
  };
  if (!library().why_not.empty()) {
    close();
    return fail(ErrorCode::kUnavailable, "cannot read captures", library().why_not,
                "apt-get install libpcap0.8");
  }
  char why[PCAP_ERRBUF_SIZE] = {};
  pcap* const handle = library().open(file, PCAP_TSTAMP_PRECISION_NANO, why);
  if (handle == nullptr) {
    close();
    return fail(
        ErrorCode::kInvalid, "cannot read " + name + " as a capture", why,
        "give a file of pcap or pcapng, as tcpdump -w and Wireshark write them, not compressed");
  }
  return CaptureFile(handle);
}

int CaptureFile::link_type() const {
  const int type = library().link_type(handle_.get());
  return type == kRawIpHere ? kRawIpInFiles : type;
}

uint32_t CaptureFile::snapshot_bytes() const {
  return static_cast<uint32_t>(std::max(0, library().snapshot(handle_.get())));
}

CaptureFile::Next CaptureFile::next(CapturedFrame& frame) {
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  const int got = library().next(handle_.get(), &header, &bytes);
  if (got == PCAP_ERROR_BREAK) return Next::kEnd;
  if (got != 1) return Next::kBroken;
  frame.at = time_of(header->ts);
  frame.wire_bytes = header->len;
  frame.captured = std::as_bytes(std::span(bytes, std::min(header->caplen, header->len)));
  return Next::kFrame;
}

std::string CaptureFile::why_broken() const { return library().error(handle_.get()); }

}  // namespace heddle::recordings
