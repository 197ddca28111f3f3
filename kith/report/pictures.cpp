#include "kith/report/pictures.h"

#include <string_view>

#include "kith/chart/html.h"

namespace kith {
namespace {

// What is written into the style sheet must not be able to end it.
bool is_picture(std::string_view uri) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
      "+/=:;,.-";
  return uri.starts_with("data:image/") &&
         uri.find_first_not_of(kLetters) == std::string_view::npos;
}

std::string picture_class(size_t group, size_t picture) {
  return "p" + std::to_string(group) + "-" + std::to_string(picture);
}

std::string background(const std::string& css_class, const std::string& uri) {
  if (!is_picture(uri)) return "";
  return "." + css_class + "{background-image:url(" + uri + ")}\n";
}

}  // namespace

std::string sheet_class(size_t group) {
  return "sheet" + std::to_string(group);
}

std::string picture_css(const std::vector<ImageGroup>& groups) {
  std::string css;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Album::Picture>& pictures = groups[g].album.pictures;
    for (size_t i = 0; i < pictures.size(); ++i) {
      css += background(picture_class(g, i), pictures[i].uri);
    }
    css += background(sheet_class(g), groups[g].scatter_sheet.uri);
  }
  return css;
}

std::string album_picture(const std::vector<ImageGroup>& groups, size_t group,
                          size_t picture, const std::string& alt) {
  const std::vector<Album::Picture>& pictures = groups[group].album.pictures;
  if (picture >= pictures.size()) return "<span class=\"picture\"></span>";
  const std::string& path = pictures[picture].path;
  return "<span class=\"picture " + picture_class(group, picture) +
         "\" role=\"img\" aria-label=\"" + html_escape(alt) + "\"" +
         (path.empty() ? "" : " title=\"" + html_escape(path) + "\"") +
         "></span>";
}

std::string picture_label(const ImageGroup& group, size_t picture) {
  return picture < group.album.pictures.size()
             ? group.album.pictures[picture].label
             : "";
}

std::string classed_cell(const std::vector<ImageGroup>& groups, size_t group,
                         size_t picture, const std::string& name, bool head) {
  return std::string(head ? "<th scope=\"row\">" : "<td>") +
         "<div class=\"classed\">" +
         album_picture(groups, group, picture, name) + "<span>" +
         html_name(name) + "</span></div>" + (head ? "</th>" : "</td>");
}

std::string data_picture(const std::string& uri, const std::string& alt) {
  if (!is_picture(uri)) return "";
  return "<img src=\"" + html_escape(uri) + "\" alt=\"" + html_escape(alt) +
         "\">";
}

}  // namespace kith
