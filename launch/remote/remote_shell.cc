// See remote_shell.h.
#include "launch/remote_shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace heddle::launch {
namespace {

// Asks for nothing: ranks have no terminal. Ten seconds are above a slow name server's answer; a
// machine that is gone is noticed within half a minute.
constexpr const char* kSsh =
    "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 {host} {command}";
constexpr std::string_view kHost = "{host}";
constexpr std::string_view kCommand = "{command}";
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string quoted(const std::string& word) {
  std::string line = "'";
  for (const char letter : word)
    line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return line + "'";
}

bool needs_quotes(const std::string& word) {
  const std::string plain = std::string(kLetters) + "-_=+./:,%@";
  return word.empty() || word.find_first_not_of(plain) != std::string::npos;
}

std::string with_host(std::string word, const std::string& host) {
  for (size_t at = 0; (at = word.find(kHost, at)) != std::string::npos; at += host.size()) {
    word.replace(at, kHost.size(), host);
  }
  return word;
}

}  // namespace

bool is_host_name(const std::string& text) {
  const std::string known = std::string(kLetters) + "-_.:@%[]";
  return !text.empty() && text[0] != '-' && text.find_first_not_of(known) == std::string::npos;
}

Result<RemoteShell> parse_remote_shell(const std::string& text) {
  std::istringstream stream(text == "ssh" ? kSsh : text);
  RemoteShell shell;
  for (std::string word; stream >> word;) shell.words.push_back(word);
  const bool names_host =
      std::any_of(shell.words.begin(), shell.words.end(),
                  [](const std::string& word) { return word.find(kHost) != std::string::npos; });
  if (names_host) return shell;
  return fail(ErrorCode::kInvalid, fmt::format("'{}' starts nothing on another host", text),
              "no word of it has {host}",
              "write ssh, or words as 'ssh -p 2222 {host} {command}' or 'srun -N1 -n1 -w {host}'");
}

Result<std::vector<RemoteHost>> parse_remote_hosts(const std::string& list) {
  std::vector<RemoteHost> hosts;
  for (size_t from = 0; from <= list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    const std::string item = list.substr(from, comma - from);
    from = comma + 1;
    const size_t equals = item.find('=');
    RemoteHost host{item.substr(0, equals),
                    equals == std::string::npos ? item : item.substr(equals + 1)};
    if (equals == std::string::npos) {  // "user@node1" is reached at node1
      host.address = host.name.substr(host.name.rfind('@') + 1);
    }
    const auto is_same = [&](const RemoteHost& other) { return other.name == host.name; };
    const bool twice = std::any_of(hosts.begin(), hosts.end(), is_same);
    if (!is_host_name(host.name) || !is_host_name(host.address) || twice) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot start anything on '{}'", item),
                  twice ? "the host is in the list twice" : "that is no name of a host",
                  "write names of hosts, as node1,node2, or node1=10.0.0.1 where the others reach "
                  "it at another address");
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<std::string> remote_words(const RemoteShell& shell, const std::string& host,
                                      const std::vector<std::string>& command) {
  std::vector<std::string> words;
  bool placed = false;
  for (const std::string& word : shell.words) {
    if (word == kCommand) {
      words.push_back(shell_line(command));
      placed = true;
    } else {
      words.push_back(with_host(word, host));
    }
  }
  if (!placed) words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += needs_quotes(word) ? quoted(word) : word;
  }
  return line;
}

}  // namespace heddle::launch
