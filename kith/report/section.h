#pragma once

#include <string>

#include "kith/report/report.h"

namespace kith {

/// Sections of a report: HTML without heading, empty if there is nothing to
/// show. One file each in sections/.
std::string results_section(const Report& report);
std::string curves_section(const Report& report);
std::string cost_section(const Report& report);
std::string differences_section(const Report& report);
std::string examples_section(const Report& report);
std::string similarities_section(const Report& report);
std::string threshold_section(const Report& report);
std::string spectrum_section(const Report& report);
std::string classes_section(const Report& report);
std::string confused_section(const Report& report);
std::string ranks_section(const Report& report);
std::string lookalikes_section(const Report& report);
std::string hubs_section(const Report& report);
std::string duplicates_section(const Report& report);
std::string corruptions_section(const Report& report);
std::string compressed_section(const Report& report);
std::string activations_section(const Report& report);
std::string scatter_section(const Report& report);
std::string run_section(const Report& report);

}  // namespace kith
