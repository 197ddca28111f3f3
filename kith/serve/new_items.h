#pragma once

#include <functional>
#include <memory>

#include "kith/serve/call.h"
#include "kith/serve/item_changer.h"
#include "kith/serve/sent_pictures.h"

namespace kith {

/// Decodes and embeds pictures that a client adds in a request, and hands on
/// the change that they make, on the thread of the model's service; or replies
/// what is wrong with one of them.
void embed_new_items(const Call& call,
                     const std::shared_ptr<const HttpRequest>& request,
                     const SentPictures& pictures,
                     std::function<void(ItemChange)> ready, Reply reply);

}  // namespace kith
