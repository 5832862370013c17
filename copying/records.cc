// Records: see records.h.
#include "copying/records.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error_code.h"
#include "base/version.h"
#include "copying/params.h"

namespace heddle::copying {
namespace {

constexpr size_t kHeadBytes = 5;  // kind and length

// One list of fields serves writing and reading: `Codec` is Writer or Reader.
template <typename Codec, typename Fields>
void visit_fields(Codec& codec, Fields& record) {
  const auto entry = [&] {
    codec.number(record.id);
    codec.text(record.path);
    codec.number(record.mode);
    codec.number(record.mtime_ns);
  };
  switch (record.kind) {
    case RecordKind::kHello:
      codec.number(record.version);
      codec.number(record.dry);
      codec.text(record.path);
      return;
    case RecordKind::kFolder:
    case RecordKind::kLeave:
      return entry();
    case RecordKind::kOffer:
      entry();
      return codec.number(record.size);
    case RecordKind::kLink:
      entry();
      return codec.text(record.target);
    case RecordKind::kStart:
      entry();
      codec.number(record.size);
      return codec.number(record.from);
    case RecordKind::kData:
      return codec.rest(record.data);
    case RecordKind::kEnd:
      codec.number(record.id);
      codec.number(record.mode);
      codec.number(record.mtime_ns);
      codec.number(record.size);
      return codec.bytes(record.digest);
    case RecordKind::kWanted:
      codec.number(record.id);
      codec.number(record.from);
      return codec.bytes(record.digest);
    case RecordKind::kWithdraw:
    case RecordKind::kPresent:
    case RecordKind::kStored:
    case RecordKind::kTaken:
      return codec.number(record.id);
    case RecordKind::kWelcome:
      return codec.number(record.version);
    case RecordKind::kFailed:
    case RecordKind::kFatal:
      codec.number(record.id);
      codec.number(record.error.code);
      codec.text(record.error.what);
      codec.text(record.error.why);
      return codec.text(record.error.todo);
    case RecordKind::kDone:
    case RecordKind::kFinished:
      return;
  }
}

class Writer {
 public:
  explicit Writer(std::span<std::byte> space) : space_(space) {}

  template <typename Number>
  void number(const Number& value) {
    put(&value, sizeof value);
  }
  void text(const std::string& value) {
    const auto length = static_cast<uint32_t>(std::min(value.size(), params::kLongestText));
    number(length);
    put(value.data(), length);
  }
  void bytes(const DigestValue& value) { put(value.data(), value.size()); }
  void rest(std::span<const std::byte> value) { put(value.data(), value.size()); }

  bool fits() const { return fits_; }
  size_t used() const { return used_; }

 private:
  void put(const void* start, size_t bytes) {
    fits_ = fits_ && bytes <= space_.size() - used_;
    if (!fits_) return;
    if (bytes > 0) std::memcpy(space_.data() + used_, start, bytes);
    used_ += bytes;
  }

  std::span<std::byte> space_;
  size_t used_ = 0;
  bool fits_ = true;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> body) : body_(body) {}

  template <typename Number>
  void number(Number& value) {
    take(&value, sizeof value);
  }
  void number(bool& value) {
    uint8_t byte = 0;
    take(&byte, 1);
    good_ = good_ && byte <= 1;
    value = byte != 0;
  }
  void number(ErrorCode& value) {
    int code = 0;
    take(&code, sizeof code);
    good_ = good_ && code >= 0 && code < kErrorCodes;
    if (good_) value = static_cast<ErrorCode>(code);
  }
  void text(std::string& value) {
    uint32_t length = 0;
    number(length);
    good_ = good_ && length <= params::kLongestText && length <= body_.size();
    if (!good_) return;
    value.assign(reinterpret_cast<const char*>(body_.data()), length);
    body_ = body_.subspan(length);
  }
  void bytes(DigestValue& value) { take(value.data(), value.size()); }
  void rest(std::span<const std::byte>& value) {
    value = body_;
    body_ = {};
  }

  bool good() const { return good_ && body_.empty(); }

 private:
  void take(void* to, size_t bytes) {
    good_ = good_ && bytes <= body_.size();
    if (!good_) return;
    std::memcpy(to, body_.data(), bytes);
    body_ = body_.subspan(bytes);
  }

  std::span<const std::byte> body_;
  bool good_ = true;
};

bool is_kind(uint8_t kind) {
  return (kind >= static_cast<uint8_t>(RecordKind::kHello) &&
          kind <= static_cast<uint8_t>(RecordKind::kDone)) ||
         (kind >= static_cast<uint8_t>(RecordKind::kWelcome) &&
          kind <= static_cast<uint8_t>(RecordKind::kTaken));
}

// The sender prints it, too: "this machine" would be either.
Unexpected other_version(uint32_t version) {
  return fail(ErrorCode::kVersion, "cannot receive this copy",
              fmt::format("the receiver is heddle {} and speaks version {} of a copy's messages, "
                          "the sender version {}",
                          kVersion, params::kVersion, version),
              version < params::kVersion ? "upgrade heddle on the sender's machine"
                                         : "upgrade heddle on the receiver's machine");
}

void put_head(std::byte* to, RecordKind kind, size_t length) {
  const auto bytes = static_cast<uint32_t>(length);
  std::memcpy(to, &kind, 1);
  std::memcpy(to + 1, &bytes, sizeof bytes);
}

}  // namespace

bool RecordWriter::add(const Record& record) {
  const std::span<std::byte> space = message_.subspan(used_);
  if (space.size() < kHeadBytes) return false;
  Writer writer(space.subspan(kHeadBytes));
  visit_fields(writer, record);
  if (!writer.fits()) return false;
  put_head(space.data(), record.kind, writer.used());
  used_ += kHeadBytes + writer.used();
  return true;
}

std::span<std::byte> RecordWriter::data_space() const {
  const std::span<std::byte> space = message_.subspan(used_);
  return space.size() <= kHeadBytes ? std::span<std::byte>() : space.subspan(kHeadBytes);
}

void RecordWriter::add_data(size_t bytes) {
  put_head(message_.data() + used_, RecordKind::kData, bytes);
  used_ += kHeadBytes + bytes;
}

Result<std::optional<Record>> RecordReader::next() {
  if (rest_.empty()) return std::optional<Record>();
  uint32_t length = 0;
  const auto wrong = [] {
    return fail(ErrorCode::kInvalid, "the peer sent what is no message of a copy",
                "another program speaks there, or another version",
                "use the same version of heddle on both sides");
  };
  if (rest_.size() < kHeadBytes) return wrong();
  const auto kind = std::to_integer<uint8_t>(rest_.front());
  std::memcpy(&length, rest_.data() + 1, sizeof length);
  if (!is_kind(kind) || length > rest_.size() - kHeadBytes) return wrong();
  Record record{.kind = static_cast<RecordKind>(kind)};
  Reader reader(rest_.subspan(kHeadBytes, length));
  visit_fields(reader, record);
  // Behind its version, the hello of another one may have other fields.
  if (record.kind == RecordKind::kHello && length >= sizeof record.version &&
      record.version != params::kVersion) {
    return other_version(record.version);
  }
  if (!reader.good()) return wrong();
  rest_ = rest_.subspan(kHeadBytes + length);
  return std::optional<Record>(std::move(record));
}

}  // namespace heddle::copying
