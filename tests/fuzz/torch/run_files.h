#pragma once

namespace kith {

/// An evaluation as the files of a run have it, without its braces.
inline constexpr const char* kStoredEval =
    R"("queries":8,"gallery":8,"queries_without_positives":0,)"
    R"("self":"excluded by index","rules":"8 queries","metrics":)"
    R"({"recall_any@1":0.5,"rho":null,"spectrum":[0.75,0.25]})";

/// The same in parts.
inline constexpr const char* kEvalInParts =
    R"("parts":[{"name":"easy","queries":1,"gallery":9,)"
    R"("queries_without_positives":1,"self":"not in the gallery","junk":7},)"
    R"({"name":"hard","queries":2,"gallery":9,"queries_without_positives":0,)"
    R"("self":"not in the gallery","draws":10}],"rules":"easy","metrics":)"
    R"({"easy/map":0.1,"hard/map":1.0})";

}  // namespace kith
