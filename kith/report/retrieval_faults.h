#pragma once

#include <vector>

#include "kith/data/image_list.h"
#include "kith/eval/diagnostics.h"
#include "kith/eval/protocol.h"
#include "kith/report/insight.h"
#include "kith/report/thumbnails.h"
#include "kith/run/diagnostics_file.h"

namespace kith {

/// How soon the queries find what is right; those without are left out.
FirstRight first_right_of(const Diagnostics& diagnostics);

/// Hubness with pictures of the items found most often. Pictures are those of
/// `task`.
Hubs hubs_of(const Diagnostics& diagnostics, const EvalTask& task,
             Thumbnails& thumbnails);

/// The `most` pairs of a query and its nearest wrong item that are most
/// similar, each pair once.
std::vector<PicturePair> lookalikes_of(const Diagnostics& diagnostics,
                                       const EvalTask& task, int64_t most,
                                       Thumbnails& thumbnails);

/// Pictures of the first `most` near duplicates, which are found in the list by
/// their paths. One that is not there has no place in an album.
std::vector<PicturePair> duplicate_pictures(const StoredDuplicates& duplicates,
                                            const ImageList& list, int64_t most,
                                            Thumbnails& thumbnails);

}  // namespace kith
