// Private folders: processes of one user on one host exchange files in them, inside of a directory
// that other users may write to (/tmp). No other user can have created the folder, read it or put
// files in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle::collectives {

// "heddle" in `runtime_folder` (XDG_RUNTIME_DIR), or "heddle-UID" in `temporary_folder` (TMPDIR) or
// /tmp: the first of them that is an absolute path.
std::string private_folder(std::string_view runtime_folder, std::string_view temporary_folder);

// Makes it with mode 0700, or checks the one that is there: a folder and no link to one, of this
// user, without rights for others, in a folder where others can neither rename nor remove it.
// Errors: kPermission (it is none of that, and says which), kUnavailable, kSystem.
Result<void> make_private_folder(const std::string& path);

// Removes it where nothing is in it: another run may use it.
void remove_private_folder(const std::string& path);

}  // namespace heddle::collectives
