#include "cli/search_page.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unordered_map>

#include "kith/chart/html.h"
#include "kith/data/data_set.h"
#include "kith/report/pictures.h"
#include "kith/report/thumbnails.h"

namespace kith {
namespace {

constexpr int kSide = 144;  // pixels: sharp at 120 on most screens

constexpr const char* kStyle = R"css(
body > * { max-width: 1060px; }
h2 { overflow-wrap: anywhere; }
.query { display: grid; grid-template-columns: 150px minmax(0, 1fr);
         gap: 16px 28px; break-inside: avoid; }
.query figure, .query p { margin: 0; }
.found { display: grid; gap: 16px 14px; margin: 0; padding: 0;
         list-style: none;
         grid-template-columns: repeat(auto-fill, minmax(104px, 1fr)); }
.frame { display: block; width: 120px; max-width: 100%; aspect-ratio: 1;
         margin-bottom: 6px; border-radius: 8px; background: var(--soft);
         border: 1px solid var(--line); overflow: hidden; }
.missing { display: grid; place-content: center; padding: 8px; font-size: 13px;
           color: var(--muted); text-align: center; }
.picture { display: block; width: 100%; height: 100%;
           background-position: center; background-repeat: no-repeat;
           background-size: contain; print-color-adjust: exact;
           -webkit-print-color-adjust: exact; }
.caption { display: block; font-size: 13px; line-height: 1.35;
           overflow-wrap: anywhere; }
.detail { display: block; font-size: 13px; color: var(--muted);
          line-height: 1.4; font-variant-numeric: tabular-nums;
          overflow-wrap: anywhere; }
.gone { overflow-wrap: anywhere; }
@media (max-width: 560px) { .query { grid-template-columns: 1fr; } }
)css";

/// The pictures of a page by path; files that are not there have none.
class PagePictures {
 public:
  explicit PagePictures(const std::vector<SearchPageQuery>& queries) {
    std::vector<std::string> files;
    const auto use = [&](const std::string& path) {
      if (places_.contains(path)) return;
      // A name need not be a path at all, and may be too long for one.
      std::error_code not_a_path;
      if (std::filesystem::is_regular_file(path, not_a_path)) {
        places_.emplace(path, files.size());
        files.push_back(path);
      } else {
        places_.emplace(path, kNone);
        gone_.push_back(path);
      }
    };
    for (const SearchPageQuery& query : queries) {
      if (query.is_picture) use(query.name);
      for (const auto& found : query.found) use(found.path);
    }
    const std::unique_ptr<DataSet> data = make_file_set(files);
    Thumbnails thumbnails(*data, kSide);
    for (size_t i = 0; i < files.size(); ++i) {
      thumbnails.place(static_cast<int64_t>(i));
    }
    groups_.resize(1);
    groups_[0].album = thumbnails.album();
  }

  std::string css() const { return picture_css(groups_); }

  /// In the order in which they were missed.
  const std::vector<std::string>& gone() const { return gone_; }

  std::string frame(const std::string& path, const std::string& alt) const {
    const auto place = places_.find(path);
    const size_t at = place == places_.end() ? kNone : place->second;
    if (at == kNone) {
      return "<span class=\"frame missing\">image missing</span>";
    }
    return "<span class=\"frame\">" + album_picture(groups_, 0, at, alt) +
           "</span>";
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  std::unordered_map<std::string, size_t> places_;
  std::vector<std::string> gone_;
  std::vector<ImageGroup> groups_;
};

std::string file_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

std::string found_item(const SearchPageQuery::Found& found, size_t rank,
                       const PagePictures& pictures) {
  const std::string name = file_name(found.path);
  const std::string similarity = format_fixed(found.similarity, 3);
  const std::string alt =
      std::to_string(rank) + ": " +
      (found.label.empty() ? name : found.label + ", " + name);
  return "<li>" + pictures.frame(found.path, alt) + "<span class=\"caption\">" +
         html_name(found.label.empty() ? name : found.label) +
         "</span><span class=\"detail\">" + std::to_string(rank) + " · " +
         similarity + "</span></li>\n";
}

/// "Nothing like this." of "nothing like this".
std::string sentence(std::string text) {
  text[0] = static_cast<char>(std::toupper(text[0]));
  return text + ".";
}

std::string found_list(const SearchPageQuery& query,
                       const PagePictures& pictures) {
  if (query.found.empty()) {
    return "<p>" +
           (query.nothing.empty() ? "Nothing was found."
                                  : html_escape(sentence(query.nothing))) +
           "</p>\n";
  }
  std::string html = "<ol class=\"found\">\n";
  for (size_t i = 0; i < query.found.size(); ++i) {
    html += found_item(query.found[i], i + 1, pictures);
  }
  return html + "</ol>\n";
}

/// A vector has nothing to show beside what it finds.
std::string query_body(const SearchPageQuery& query,
                       const PagePictures& pictures) {
  std::string found = found_list(query, pictures);
  if (!query.is_picture) return found;
  return "<div class=\"query\"><figure>" +
         pictures.frame(query.name, "the query") +
         "<figcaption class=\"detail\">" + html_name(query.name) +
         "</figcaption></figure>\n" + found + "</div>\n";
}

/// One for each query: the file's name, or its path where others have the same
/// name.
std::vector<std::string> headings(const std::vector<SearchPageQuery>& queries) {
  std::unordered_map<std::string, int> counts;
  for (const SearchPageQuery& query : queries) ++counts[file_name(query.name)];
  std::vector<std::string> texts;
  for (const SearchPageQuery& query : queries) {
    const std::string name = file_name(query.name);
    if (!query.is_picture) {
      texts.push_back("Vector " + query.name);
    } else {
      texts.push_back(counts[name] == 1 ? name : query.name);
    }
  }
  return texts;
}

std::string gone_body(const std::vector<std::string>& gone) {
  constexpr size_t kMost = 50;
  std::string html = "<ul class=\"gone\">\n";
  for (size_t i = 0; i < std::min(gone.size(), kMost); ++i) {
    html += "<li><code>" + html_escape(gone[i]) + "</code></li>\n";
  }
  html += "</ul>\n";
  if (gone.size() > kMost) {
    html += "<p>and " + std::to_string(gone.size() - kMost) + " more.</p>\n";
  }
  return html;
}

}  // namespace

std::string search_page(const std::string& lead,
                        const std::vector<SearchPageQuery>& queries) {
  const PagePictures pictures(queries);
  HtmlPage page("Search", lead, kStyle + pictures.css());
  const std::vector<std::string> texts = headings(queries);
  for (size_t i = 0; i < queries.size(); ++i) {
    page.add_section(texts[i], query_body(queries[i], pictures));
  }
  if (!pictures.gone().empty()) {
    page.add_section("No picture of these", gone_body(pictures.gone()));
  }
  return page.str();
}

}  // namespace kith
