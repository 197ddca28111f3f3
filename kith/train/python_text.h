#pragma once

#include <string>

#include "kith/models/published_form.h"

namespace kith {

/// Python that makes embeddings with a folder of export_huggingface(): reads
/// the backbone into its library's network and does what kith's head does, in
/// plain PyTorch. It reads THIS_FOLDER and embeds picture.jpg.
std::string python_text(EmbeddingNet& net, const PublishedForm& form);

}  // namespace kith
