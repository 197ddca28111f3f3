#include "kith/serve/http.h"

#include <nlohmann/json.hpp>

namespace kith {

HttpResponse error_response(int status, const std::string& error,
                            const std::string& remedy) {
  using Json = nlohmann::ordered_json;
  HttpResponse response;
  response.status = status;
  // What a client sent may be quoted in it, and that need not be UTF-8.
  response.body = Json({{"error", error}, {"remedy", remedy}})
                      .dump(-1, ' ', false, Json::error_handler_t::replace) +
                  "\n";
  if (status == 401) response.headers = {{"WWW-Authenticate", "Bearer"}};
  if (status == 503) response.headers = {{"Retry-After", "1"}};
  return response;
}

}  // namespace kith
