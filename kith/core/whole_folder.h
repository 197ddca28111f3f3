#pragma once

#include <functional>
#include <string>

namespace kith {

/// Calls `fill` with the path of a new folder beside `folder`, and puts what it
/// wrote in the place of `folder`, in one step: whatever happens meanwhile, all
/// of the old folder is there, or all of the new one.
///
/// Where that cannot be, because the folder is the root of a file system or the
/// present one, what it is in cannot be written to, or the file system cannot
/// exchange two folders, `fill` is called with `folder` itself, which need not
/// be there.
///
/// Whatever `fill` throws goes on, and RunError if another process does the
/// same to the folder, or a disk fails.
void write_whole_folder(const std::string& folder,
                        const std::function<void(const std::string&)>& fill);

}  // namespace kith
