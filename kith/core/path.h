#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kith {

// The questions and deeds of std::filesystem that can fail, with errors that
// name the path and the reason as all others do. What cannot be told, as of a
// name in a folder that may not be entered, is an error and not "no".

/// Whether there is a file or folder. DataError if that cannot be told.
bool path_exists(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);

/// The names in a folder, in order. DataError if they cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// DataError if there is no such file.
int64_t bytes_of(const std::filesystem::path& file);

/// The path from the root. RunError for an empty one, or where the present
/// folder is gone.
std::filesystem::path full_path(const std::filesystem::path& path);

/// RunError if it is gone.
std::filesystem::path present_folder();

/// Whether a file lies below a folder once links in both are followed. False if
/// either is not there or cannot be told.
bool is_below(const std::filesystem::path& file,
              const std::filesystem::path& folder);

/// Makes a folder and those that it is in; nothing if it is there. RunError.
void make_folders(const std::filesystem::path& folder);

/// Removes a file; nothing if it is not there. RunError.
void remove_file(const std::filesystem::path& file);

}  // namespace kith
