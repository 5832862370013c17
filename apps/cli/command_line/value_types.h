// Value types: what help calls a value, where completion goes by that name.
#pragma once

namespace heddle::cli {

inline constexpr const char* kAssignmentType = "KEY=VALUE";           // a setting and its value
inline constexpr const char* kHostType = "HOST[:PORT]";               // where a server listens
inline constexpr const char* kHostListType = "HOST[,HOST]...";        // of a lab
inline constexpr const char* kLabType = "LAB";                        // the name of one
inline constexpr const char* kCommandType = "COMMAND";                // of this program
inline constexpr const char* kProgramType = "COMMAND [ARGUMENT]...";  // a program to start
inline constexpr const char* kAddressListType = "ADDRESS[,ADDRESS]...";

}  // namespace heddle::cli
