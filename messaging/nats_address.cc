// See nats_address.h.
#include "messaging/nats_address.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/document.h"
#include "base/table.h"
#include "messaging/params.h"

namespace heddle::messaging {
namespace {

constexpr std::string_view kPlain = "nats://";
constexpr std::string_view kTls = "tls://";

bool is_of_token(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9') || each == '-' || each == '_' || each == '%';
}

bool is_subject(std::string_view text) {
  if (text.empty() || text.size() > params::kLongestSubject) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!is_subject_token(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_port(std::string_view text) {
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [read, failed] = std::from_chars(text.data(), end, port);
  return failed == std::errc() && read == end && port > 0;
}

bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '.' || each == '-' || each == '_' || each == ':';
  });
}

// What is wrong with it; empty: nothing.
std::string read_server(std::string_view text, std::vector<NatsServer>& servers) {
  NatsServer server{.host = {}, .port = "4222"};
  std::string_view rest = text;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return "it names no host";
    server.host = text.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    server.host = text.substr(0, text.find(':'));
    rest.remove_prefix(server.host.size());
  }
  if (!is_host(server.host)) return "it names no host";
  if (!rest.empty()) server.port = rest.substr(1);
  if (!rest.empty() && (rest.front() != ':' || !is_port(server.port))) {
    return "its port is no number from 1 to 65535";
  }
  servers.push_back(std::move(server));
  return {};
}

std::string read_servers(std::string_view text, std::vector<NatsServer>& servers) {
  while (true) {
    const size_t comma = text.find(',');
    std::string wrong = read_server(text.substr(0, comma), servers);
    if (!wrong.empty() || comma == std::string_view::npos) return wrong;
    if (servers.size() == params::kMostServers)
      return fmt::format("it names more than {}", params::kMostServers);
    text.remove_prefix(comma + 1);
  }
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// libnats puts them into its request as they are.
bool can_be_sent(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char each) {
    return each < ' ' || each == 127 || each == '"' || each == '\\';
  });
}

// What a server would misunderstand.
Result<NatsAccess> checked(NatsAccess access, const std::string& from) {
  const auto refused = [&from](const std::string& why, const std::string& todo) {
    return fail(ErrorCode::kInvalid, "cannot use the credentials of " + from, why, todo);
  };
  if (!access.token.empty() && !access.user.empty()) {
    return refused("there are a user and a token", "leave one of them out");
  }
  if (access.user.empty() != access.password.empty()) {
    return refused("user and password belong together", "give both, or none");
  }
  for (const std::string& each : {access.user, access.password, access.token}) {
    if (can_be_sent(each)) continue;
    return refused("one holds a control character, \" or \\, which libnats cannot send",
                   "choose others");
  }
  if (access.certificate.empty() != access.key.empty()) {
    return refused("certificate and key belong together", "give both, or none");
  }
  return access;
}

}  // namespace

std::string NatsServer::text() const {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

std::string NatsAddress::text() const {
  std::string made(tls ? kTls : kPlain);
  for (const NatsServer& each : servers) {
    if (&each != &servers.front()) made += ",";
    made += each.text();
  }
  return made + "/" + subject;
}

bool is_nats_address(std::string_view text) {
  return text.starts_with(kPlain) || text.starts_with(kTls);
}

Result<NatsAddress> parse_nats_address(const std::string& text) {
  const auto refused = [](const std::string& why) {
    return fail(ErrorCode::kInvalid, "cannot use the address of a NATS server that is given", why,
                "write nats://HOST:PORT/SUBJECT, or tls:// in place of nats://");
  };
  if (!is_nats_address(text)) return refused("it begins with neither nats:// nor tls://");
  NatsAddress made{.servers = {}, .subject = "heddle", .tls = text.starts_with(kTls)};
  std::string_view rest = text;
  rest.remove_prefix(made.tls ? kTls.size() : kPlain.size());
  // Its text is in no message: it may hold a password.
  if (rest.find('@') != std::string_view::npos) {
    return refused(
        "other users can read a command line: credentials are not written there but in "
        "a file, or in HEDDLE_NATS_USER and HEDDLE_NATS_PASSWORD");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (std::string wrong = read_servers(rest.substr(0, slash), made.servers); !wrong.empty()) {
    return refused(wrong);
  }
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  if (!rest.empty()) made.subject = rest;
  if (!is_subject(made.subject)) {
    return refused("its subject is not of words of letters, digits, '-' and '_' between dots");
  }
  return made;
}

bool is_subject_token(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_of_token);
}

std::string subject_token(std::string_view text) {
  std::string made;
  for (const char each : text.substr(0, params::kLongestToken)) {
    if (is_of_token(each) && each != '%') {
      made += each;
    } else {
      made += fmt::format("%{:02X}", static_cast<unsigned char>(each));
    }
  }
  return made.empty() ? "_" : made;
}

Result<NatsAccess> read_nats_access(const std::string& path) {
  if (path.empty()) {
    return checked({.user = variable("HEDDLE_NATS_USER"),
                    .password = variable("HEDDLE_NATS_PASSWORD"),
                    .token = variable("HEDDLE_NATS_TOKEN")},
                   "the environment");
  }
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(ErrorCode::kPermission, "cannot use the credentials of " + path,
                "other users may read it", "chmod 600 " + path);
  }
  Result<std::string> text = read_text_file(path, "give a file that is there");
  if (!text) return fail(std::move(text).error());
  Result<DocumentValue> document = parse_document(*text, path);
  if (!document) return fail(std::move(document).error());
  FileErrors errors(path);
  TableReader table(*document, errors);
  NatsAccess made{.user = table.text("user", ""),
                  .password = table.text("password", ""),
                  .token = table.text("token", ""),
                  .ca = table.text("ca", ""),
                  .certificate = table.text("certificate", ""),
                  .key = table.text("key", "")};
  table.finish();
  if (errors.any()) return fail(errors.first());
  return checked(std::move(made), path);
}

}  // namespace heddle::messaging
