#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kith/image/decode.h"
#include "kith/serve/call.h"

namespace kith {

/// Pictures that may be added at a time.
inline constexpr size_t kMostPictures = 64;

/// The pictures of a body, as they are in it, with the fields beside them.
struct SentPictures {
  std::vector<std::string_view> pictures;
  std::vector<std::string> ids;     ///< None, or as many.
  std::vector<std::string> labels;  ///< None, one for all, or as many.
};

/// Reads the body of a call: a picture, or a form. Fields of a form that are
/// parameters of a search are read into the call. Returns why it is refused;
/// nothing if it is not. The pictures are in the body of the request.
std::optional<HttpResponse> read_sent(const HttpRequest& request,
                                      const CallRules& rules, Call& call,
                                      SentPictures& sent);

/// Decodes a picture, which is in the body of a request, or says what is wrong
/// with it. BusyError when the deadline passes.
std::optional<HttpResponse> decode_sent(
    std::string_view bytes, std::shared_ptr<const HttpRequest> request,
    const DecodeLimits& limits, Deadline deadline, Image& image);

}  // namespace kith
