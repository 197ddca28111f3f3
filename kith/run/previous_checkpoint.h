#pragma once

#include <string>

namespace kith {

/// "a/last.previous.safetensors" for "a/last.safetensors".
std::string previous_checkpoint(const std::string& path);

/// Keeps the checkpoint that is at `path`, if there is one, under the name of
/// the previous one, in whose place it goes: the next can be written.
void keep_previous_checkpoint(const std::string& path);

/// What to do about a checkpoint that is damaged, to be added to an error:
/// names those beside it that are whole. Empty if it is not damaged.
std::string remedy_of_damage(const std::string& path);

/// The same for a run that is to go on from it.
std::string remedy_to_resume(const std::string& path);

}  // namespace kith
