#include "kith/serve/http.h"

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"

namespace kith {

HttpResponse error_response(int status, const std::string& error,
                            const std::string& remedy) {
  using Json = nlohmann::ordered_json;
  HttpResponse response;
  response.status = status;
  // What a client sent may be quoted in it, and that need not be UTF-8.
  response.body =
      json_text(Json({{"error", error}, {"remedy", remedy}}), -1) + "\n";
  if (status == 401) response.headers = {{"WWW-Authenticate", "Bearer"}};
  if (status == 503 || status == 429) response.headers = {{"Retry-After", "1"}};
  return response;
}

}  // namespace kith
