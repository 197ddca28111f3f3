#include "kith/chart/html.h"

#include <algorithm>
#include <cmath>

#include "kith/core/quote.h"

namespace kith {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --fg: #1f2328; --muted: #59636e; --line: #d8dee4; --bg: #ffffff;
  --soft: #f5f7f9; --good: #1a7f37; --bad: #cf222e; --link: #0a5fb4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --fg: #e6edf3; --muted: #9aa5b1; --line: #30363d; --bg: #0f1318;
    --soft: #181d24; --good: #3fb950; --bad: #ff6a61; --link: #6cb6ff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--bg); color: var(--fg);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
        "Liberation Sans", Arial, sans-serif;
  -webkit-text-size-adjust: 100%;
}
body { padding: 56px 0 72px; }
body > * { max-width: 940px; margin: 0 auto; padding: 0 28px; }
footer { margin-top: 52px; font-size: 14px; color: var(--muted); }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 24px 0 0;
         padding: 0; list-style: none; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1 {
  margin: 0 0 10px; font-size: 30px; line-height: 1.2; font-weight: 650;
  letter-spacing: -0.015em; overflow-wrap: anywhere;
}
.lead { margin: 0; max-width: 44em; font-size: 18px; color: var(--muted); }
section { margin-top: 52px; }
h2 { margin: 0 0 14px; font-size: 20px; line-height: 1.3; font-weight: 650; }
.note { margin: 0 0 20px; max-width: 46em; font-size: 14px;
        color: var(--muted); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td {
  padding: 9px 16px 9px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); font-weight: 400;
}
th:last-child, td:last-child { padding-right: 0; }
thead th { padding-top: 0; font-size: 13px; color: var(--muted); }
tbody th { font-weight: 600; }
.number { width: 8em; text-align: right; font-variant-numeric: tabular-nums;
          white-space: nowrap; }
small { display: block; font-size: 13px; line-height: 1.45; font-weight: 400;
        color: var(--muted); }
code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas,
       "Liberation Mono", monospace; overflow-wrap: anywhere; }
@media (max-width: 560px) {
  body { padding: 32px 0 48px; }
  body > * { padding: 0 16px; }
  h1 { font-size: 25px; }
  .lead { font-size: 16px; }
  section { margin-top: 40px; }
  th, td { padding-right: 12px; }
  .number { width: auto; }
  thead .number { white-space: normal; }
}
@media print {
  body, body > * { max-width: none; padding: 0; }
}
)css";

std::string cell_html(const HtmlCell& cell) {
  std::string html = html_escape(cell.text);
  if (cell.code) html = "<code>" + html + "</code>";
  if (cell.strong) html = "<strong>" + html + "</strong>";
  if (!cell.note.empty()) {
    html += "<small>" + html_escape(cell.note) + "</small>";
  }
  return html;
}

}  // namespace

std::string html_escape(std::string_view text) {
  static constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = utf8_length(text.substr(i));
    const bool control =
        (c >= 0 && c < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
        c == 0x7F;
    if (length == 0 || control) {
      out += kReplacement;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return out;
}

std::string html_name(std::string_view name) {
  std::string breakable;
  for (const char c : html_escape(name)) {
    breakable += c;
    if (c == '/' || c == '_' || c == '-') breakable += "<wbr>";
  }
  return breakable;
}

std::string base64(std::span<const uint8_t> bytes) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = (bits << 8) | (k < count ? bytes[i + k] : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += k <= count ? kAlphabet[(bits >> (18 - 6 * k)) & 63u] : '=';
    }
  }
  return out;
}

std::string data_uri(std::string_view media_type,
                     std::span<const uint8_t> bytes) {
  return "data:" + std::string(media_type) + ";base64," + base64(bytes);
}

std::string html_table(const HtmlTable& table) {
  const auto attributes = [&](size_t column) {
    const bool number =
        column < table.columns.size() && table.columns[column].number;
    return std::string(number ? " class=\"number\"" : "");
  };
  std::string html = html_open_scroll(table.label) + "<table>\n";
  const bool has_head = std::any_of(
      table.columns.begin(), table.columns.end(),
      [](const HtmlColumn& column) { return !column.title.empty(); });
  if (has_head) {
    html += "<thead><tr>";
    for (size_t i = 0; i < table.columns.size(); ++i) {
      html += "<th scope=\"col\"" + attributes(i) + ">" +
              html_escape(table.columns[i].title) + "</th>";
    }
    html += "</tr></thead>\n";
  }
  html += "<tbody>\n";
  for (const std::vector<HtmlCell>& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string tag = i == 0 ? "th" : "td";
      html += "<" + tag + (i == 0 ? " scope=\"row\"" : "") + attributes(i) +
              ">" + cell_html(row[i]) + "</" + tag + ">";
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

std::string html_open_scroll(std::string_view label) {
  return "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"" +
         html_escape(label) + "\">";
}

HtmlPage::HtmlPage(std::string_view title, std::string_view lead,
                   std::string_view css)
    : title_(html_escape(title)), lead_(html_escape(lead)), css_(css) {}

void HtmlPage::add_section(std::string_view heading, std::string_view body,
                           std::string_view id) {
  const std::string name = html_escape(heading), anchor = html_escape(id);
  if (id.empty()) {
    body_ += "<section>\n<h2>" + name + "</h2>\n";
  } else {
    links_ += "<li><a href=\"#" + anchor + "\">" + name + "</a></li>\n";
    body_ += "<section id=\"" + anchor + "\" aria-labelledby=\"" + anchor +
             "-heading\">\n<h2 id=\"" + anchor + "-heading\">" + name +
             "</h2>\n";
  }
  body_ += std::string(body) + "</section>\n";
}

void HtmlPage::add_html(std::string_view html) { body_ += html; }

void HtmlPage::set_script(std::string_view script) { script_ = script; }

void HtmlPage::set_footer(std::string_view text) {
  footer_ = html_escape(text);
}

std::string HtmlPage::str() const {
  const std::string policy =
      "default-src 'none'; img-src data:; style-src 'unsafe-inline'" +
      std::string(script_.empty() ? "" : "; script-src 'unsafe-inline'");
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      policy + "\">\n<title>" + title_ + "</title>\n<style>" +
      std::string(kStyle) + css_ + "</style>\n</head>\n<body>\n";
  html += "<header>\n<h1>" + title_ + "</h1>\n";
  if (!lead_.empty()) html += "<p class=\"lead\">" + lead_ + "</p>\n";
  html += "</header>\n";
  if (!links_.empty()) {
    html +=
        "<nav aria-label=\"Sections\">\n<ul>\n" + links_ + "</ul>\n</nav>\n";
  }
  html += "<main>\n" + body_ + "</main>\n";
  if (!footer_.empty()) html += "<footer>" + footer_ + "</footer>\n";
  if (!script_.empty()) html += "<script>" + script_ + "</script>\n";
  return html + "</body>\n</html>\n";
}

}  // namespace kith
