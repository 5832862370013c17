// RemoteShell: the program that starts commands on other machines: ssh, or one of the site's that
// takes a command line as ssh does (srun, kubectl exec, docker exec).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::launch {

struct RemoteShell {
  // In each word "{host}" stands for the host. A word "{command}" stands for the command as one
  // word, for a shell on that host; without one, the command's words are added.
  std::vector<std::string> words;
};

struct RemoteHost {
  std::string name;     // as the remote shell takes it
  std::string address;  // by which the other hosts reach it
};

// "ssh", which does not ask for passwords, or words as "srun -N1 -n1 --overlap -w {host}". Errors:
// kInvalid where no word has {host}.
Result<RemoteShell> parse_remote_shell(const std::string& text);

// Of the letters of names and addresses, and no option of a remote shell.
bool is_host_name(const std::string& text);

// "node1,node2": names, and behind each one an address where the other hosts reach it by another:
// "node1=10.0.0.1". Errors: kInvalid for names that are options, for addresses that are none, and
// for a host that is there twice.
Result<std::vector<RemoteHost>> parse_remote_hosts(const std::string& list);

// What is executed here to run `command` on the host.
std::vector<std::string> remote_words(const RemoteShell& shell, const std::string& host,
                                      const std::vector<std::string>& command);

// The words as a user types them for a shell.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace heddle::launch
