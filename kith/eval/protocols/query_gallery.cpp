#include "kith/eval/protocols.h"

namespace kith {

std::vector<EvalTask> StandardProtocol::tasks(const ImageList& list,
                                              Split split) const {
  const std::vector<int64_t> all = list.of_split(split);
  return {{"", all, all}};
}

KITH_REGISTER(protocol_registry(), "standard", StandardProtocol);

std::vector<EvalTask> QueryGalleryProtocol::tasks(const ImageList& list,
                                                  Split split) const {
  return {query_gallery_task(list, split, "query_gallery")};
}

KITH_REGISTER(protocol_registry(), "query_gallery", QueryGalleryProtocol);

std::vector<EvalTask> InshopProtocol::tasks(const ImageList& list,
                                            Split split) const {
  return {query_gallery_task(list, split, "inshop")};
}

KITH_REGISTER(protocol_registry(), "inshop", InshopProtocol);

}  // namespace kith
