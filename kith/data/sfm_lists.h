#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/data/image_list.h"
#include "kith/io/pickle.h"

namespace kith {

// What the published lists of retrieval-SfM-120k have in common.

/// An entry of a dict, which must be there. `holds`: what the dict should have.
const PickleNode& sfm_entry(const Pickle& pickle, const PickleNode& dict,
                            const std::string& where, const char* key,
                            const char* holds);

/// A list of whole numbers from 0, Python's or NumPy's, or an array of them.
std::vector<int64_t> sfm_numbers(const Pickle& pickle, const PickleNode& node,
                                 const std::string& where);

/// "ROOT/ims/ef/cd/ab/...abcdef" of the name of an image: folders of its last
/// six letters, backwards.
std::string sfm_image_path(const std::string& root, const PickleNode& node,
                           const std::string& where);

/// Adds the images of retrieval-SfM-120k-val-eccv2020.pkl in the folder `root`
/// (Tolias et al., ECCV 2020) as the validation split: queries that are gallery
/// images too, with lists of right answers (QueryTruth::easy) and junk. Each
/// image has a label of its own, above all others.
void add_sfm_validation(ImageList& list, const std::string& root);

}  // namespace kith
