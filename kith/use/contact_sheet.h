#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/data/data_set.h"
#include "kith/train/run_config.h"

namespace kith {

/// A row of a contact sheet: pictures beside each other, and what they are.
struct SheetRow {
  std::string title;
  std::string text;
  std::vector<Image> pictures;
};

struct ContactSheet {
  std::string title;
  std::string lead;  ///< A sentence about all rows.
  std::vector<SheetRow> rows;
};

struct ContactSheetOptions {
  int64_t images = 6;  ///< Rows, one a picture.
  int64_t views = 8;   ///< Pictures of a row, beside its first.
  int64_t seed = 0;    ///< Of what is random.

  void describe(OptionSet& set);
};

/// Pictures of the data, spread evenly over the training split (of data
/// without one, over all), images x views of them, as they are stored.
ContactSheet show_images(const DataSet& data,
                         const ContactSheetOptions& options = {});

/// What training makes of pictures: a row begins with one as it is tested, then
/// come views by the steps of `augment` in the configuration.
ContactSheet show_training_views(const RunConfig& config,
                                 const ContactSheetOptions& options = {});

/// Every augmentation there is, a row each, at its defaults, of one picture of
/// the data. A `size` that the picture does not have becomes three quarters of
/// its short side.
ContactSheet show_augmentations(const DataSet& data,
                                const ContactSheetOptions& options = {});

/// Writes a sheet to a file: a page with titles (.html), or the pictures alone
/// (.png). ConfigError for another ending.
void write_contact_sheet(const ContactSheet& sheet, const std::string& path);

}  // namespace kith
