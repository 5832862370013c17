// Machine folders: where a test keeps recordings on the machines of --hosts until they are fetched,
// and how they are removed there. Private to fabrics/machines.cc.
#pragma once

#include <string>

namespace heddle::acceptance {

// Of this test, in /tmp of each machine.
std::string machine_folder();

// Where the ranks of one run record, beside the test's folder: what a run that failed has left is
// not in the recording of another. `recording` is where this one's is fetched to.
std::string run_folder(const std::string& folder, const std::string& recording);

// A script of a POSIX shell that writes what is in a folder to standard output as an archive (tar,
// gzip); nothing where there is no such folder.
std::string packing_script(const std::string& folder);

// A script of a POSIX shell that removes this folder and those of its runs, and with them those
// beside it that tests which were killed have left: folders of this user by such a name, of which
// nothing has changed for kStaleFolderAge. A symbolic link is neither followed nor removed.
std::string removing_script(const std::string& folder);

}  // namespace heddle::acceptance
