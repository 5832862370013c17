// See expectations.h.
#include "acceptance/expectations.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/document.h"
#include "topology/quantity.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kKeys =
    "version, pair_share, link_share, collective_share, all_to_all_share, training_share, "
    "incast_share, errors, retransmitted, victim_latency, mtu and routes";

constexpr uint32_t kAll = 1'000'000;  // per million

class Reader {
 public:
  Reader(const DocumentValue& file, std::string name) : file_(file), name_(std::move(name)) {}

  Result<Expectations> read() {
    Result<void> version = check_version();
    if (!version) return fail(version.error());
    Expectations made;
    for (const DocumentValue& value : file_.items) {
      if (Result<void> taken = take(value, made); !taken) return fail(taken.error());
    }
    return made;
  }

 private:
  Unexpected wrong(const DocumentValue& value, const std::string& why, const std::string& todo) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot use {}:{}", name_, value.line), why, todo);
  }

  Result<void> check_version() {
    const DocumentValue* const version = file_.find("version");
    if (version != nullptr && version->kind == DocumentKind::kInteger && version->integer == 1) {
      return {};
    }
    return fail(ErrorCode::kVersion, "cannot use " + name_, "it has no 'version = 1'",
                "begin the file with version = 1");
  }

  Result<void> share(const DocumentValue& value, double& into) {
    uint32_t per_million = 0;
    if (Result<void> read = parts(value, per_million); !read) return read;
    if (per_million == 0) {
      return wrong(value, value.key + " of 0% judges nothing: every figure reaches it",
                   "give a share above 0%, or leave it out for the default");
    }
    into = per_million / 1e6;
    return {};
  }

  // At most this share may be lost.
  Result<void> losses(const DocumentValue& value, uint32_t& into) {
    uint32_t per_million = 0;
    if (Result<void> read = parts(value, per_million); !read) return read;
    if (per_million == kAll) {
      return wrong(value, value.key + " of 100% judges nothing: no figure is above it",
                   "give a share below 100%, or leave it out for the default");
    }
    into = per_million;
    return {};
  }

  Result<void> parts(const DocumentValue& value, uint32_t& into) {
    const auto read = value.kind == DocumentKind::kText ? topology::parse_share(value.text)
                                                        : std::optional<uint32_t>();
    if (!read) return wrong(value, value.key + " is no share", "give one like \"70%\"");
    into = *read;
    return {};
  }

  Result<void> count(const DocumentValue& value, std::optional<uint32_t>& into) {
    if (value.kind != DocumentKind::kInteger || value.integer < 1 || value.integer > 65'535) {
      return wrong(value, value.key + " is no number from 1 to 65535", "give one like 1500");
    }
    into = static_cast<uint32_t>(value.integer);
    return {};
  }

  Result<void> take(const DocumentValue& value, Expectations& made) {
    if (value.key == "version") return {};
    const std::array<std::pair<const char*, double*>, 6> shares = {
        {{"pair_share", &made.pair_share},
         {"link_share", &made.link_share},
         {"collective_share", &made.collective_share},
         {"all_to_all_share", &made.all_to_all_share},
         {"training_share", &made.training_share},
         {"incast_share", &made.incast_share}}};
    for (const auto& [key, into] : shares) {
      if (value.key == key) return share(value, *into);
    }
    if (value.key == "errors") return losses(value, made.errors_per_million);
    if (value.key == "retransmitted") return losses(value, made.retransmitted_per_million);
    if (value.key == "mtu") return count(value, made.mtu_bytes);
    if (value.key == "routes") return count(value, made.routes);
    if (value.key != "victim_latency") {
      return wrong(value, fmt::format("there is no key '{}'", value.key),
                   std::string("the keys are ") + kKeys);
    }
    const auto time = value.kind == DocumentKind::kText ? topology::parse_time(value.text)
                                                        : std::optional<Nanos>();
    if (!time) return wrong(value, "victim_latency is no time", "give one like \"5ms\"");
    made.victim_latency = *time;
    return {};
  }

  const DocumentValue& file_;
  std::string name_;
};

}  // namespace

Result<Expectations> parse_expectations(std::string_view text, const std::string& name) {
  const Result<DocumentValue> file = parse_document(text, name);
  if (!file) return fail(file.error());
  return Reader(*file, name).read();
}

Result<Expectations> read_expectations(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "check the path");
  if (!text) return fail(text.error());
  return parse_expectations(*text, path);
}

}  // namespace heddle::acceptance
