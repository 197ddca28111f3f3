#pragma once

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

/// Decodes a picture that a client sent, or says what is wrong with it.
std::optional<HttpResponse> decode_sent(std::string_view bytes,
                                        const DecodeLimits& limits,
                                        Image& image);

}  // namespace kith
