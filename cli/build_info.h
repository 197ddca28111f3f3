#pragma once

namespace kith {

// What this build was made with. CMake writes the values into one small file,
// so that all others compile to the same objects in every checkout.

extern const char* const kVersion;

// Optional libraries: the version, or what is missing without them.
extern const char* const kBenchmark;
extern const char* const kBoost;
extern const char* const kFaiss;
extern const char* const kWebp;
extern const char* const kTiff;
/// Whether `kith serve` works, which needs Boost.
extern const bool kCanServe;

/// Where recipes lie: in the sources, and in an installation as seen from the
/// program's folder.
extern const char* const kSourceRecipes;
extern const char* const kInstalledRecipes;

/// The recipe that `kith demo` runs: recipes/glyphs.yaml.
extern const char* const kDemoRecipe;

}  // namespace kith
