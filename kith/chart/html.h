#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kith/core/number_text.h"

namespace kith {

/// Text made safe for HTML and SVG, in content and in quoted attributes.
/// Bytes that are not UTF-8 and control characters other than tab and line
/// ends become U+FFFD, so that the result is also legal XML.
std::string html_escape(std::string_view text);

/// The same of a name, with <wbr> after its signs, so that a long one breaks
/// there rather than within a word. For content only.
std::string html_name(std::string_view name);

/// Standard base64 (RFC 4648 section 4) with padding, without line breaks.
std::string base64(std::span<const uint8_t> bytes);

/// "data:<media_type>;base64,..."; media_type is e.g. "image/png".
std::string data_uri(std::string_view media_type,
                     std::span<const uint8_t> bytes);

/// Text of one table cell; escaped when written.
struct HtmlCell {
  std::string text;
  std::string note;  ///< Small second line; none if empty.
  bool code = false;
  bool strong = false;  ///< The best of its row.
};

struct HtmlColumn {
  std::string title;
  bool number = false;  ///< Right-aligned, with digits of equal width.
};

/// The first cell of each row is its header. The head is left out when every
/// column title is empty.
struct HtmlTable {
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;
  std::string label = "Table";  ///< Its name for screen readers.
};

std::string html_table(const HtmlTable& table);

/// Begins what may be wider than a phone and is then scrolled, by keyboard
/// too. The caller appends "</div>".
std::string html_open_scroll(std::string_view label);

/// Writes one self-contained page: inline style, light and dark. A content
/// security policy in the head keeps browsers from loading anything from
/// elsewhere, and from running scripts unless the page has one.
class HtmlPage {
 public:
  /// `title` and `lead` (the sentence below the title) are plain text; `css`
  /// is added to the page's own style.
  HtmlPage(std::string_view title, std::string_view lead,
           std::string_view css = {});

  /// `heading` is plain text; `body` is HTML, its text already escaped. A
  /// section with an id has a link below the title.
  void add_section(std::string_view heading, std::string_view body,
                   std::string_view id = {});

  /// HTML between the sections.
  void add_html(std::string_view html);

  /// JavaScript, run when the page is there; it may not hold "</script".
  void set_script(std::string_view script);

  /// A line of plain text below all sections.
  void set_footer(std::string_view text);

  std::string str() const;

 private:
  std::string title_, lead_, css_;
  std::string links_, body_;
  std::string script_, footer_;
};

}  // namespace kith
