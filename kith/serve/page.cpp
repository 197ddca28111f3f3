#include "kith/serve/page.h"

#include "kith/serve/assets.h"

namespace kith {
namespace {

std::string_view content_type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

}  // namespace

std::optional<PageFile> find_page_file(std::string_view name) {
  for (const auto& [known, contents] : kServeAssets) {
    if (known == name) return PageFile{content_type_of(name), contents};
  }
  return {};
}

}  // namespace kith
