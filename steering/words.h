// Words of policies and commands: placeholders, taints, and what may be a host's name. Names come
// from recordings of other machines, so they are checked before a command gets them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::steering {

// Hosts that a fault is about; empty ones are unknown.
struct PlaceHosts {
  std::string host;  // of a rank or a NIC
  std::string peer;  // another one of the job, of which no fault is known
  std::string from;  // of a link
  std::string to;
};

// 1 to 253 letters, digits, '.', '-' and '_', a letter or digit first and last, no ".."; not "all",
// which names every node of Slurm.
bool is_host_name(std::string_view text);
// Whether the name is one of the patterns, as a shell has them for files; no patterns: any.
bool is_allowed(const std::string& host, const std::vector<std::string>& patterns);

// The first "{word}" that is none of {host}, {peer}, {from}, {to}; empty: there is none.
std::string unknown_placeholder(std::string_view word);
bool has_placeholder(std::string_view word);
// The words with hosts in them. Nothing where one of the hosts is unknown.
std::optional<std::vector<std::string>> fill(const std::vector<std::string>& words,
                                             const PlaceHosts& hosts);

struct Taint {
  std::string key;
  std::string value;  // may be empty
  std::string effect;
};
// "key=value:effect" or "key:effect", as kubectl has it.
std::optional<Taint> parse_taint(std::string_view text);
// A word like "HeddleFault".
bool is_condition_type(std::string_view text);

}  // namespace heddle::steering
