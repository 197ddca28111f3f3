#include "kith/serve/multipart.h"

#include <algorithm>
#include <optional>

#include "kith/serve/access.h"

namespace kith {
namespace {

constexpr std::string_view kFormType = "multipart/form-data";
constexpr std::string_view kLineEnd = "\r\n";
constexpr size_t kMaxBoundary = 70;  // RFC 2046
constexpr size_t kMaxPartHeader = 4096;

std::string_view trimmed(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Takes a value from the front: "quoted \" text", or what is before a
/// semicolon. Nothing if a quote is not closed.
std::optional<std::string> take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view value = text.substr(0, text.find(';'));
    text.remove_prefix(value.size());
    return std::string(trimmed(value));
  }
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    value += text[i];
  }
  return {};
}

/// The parameter of a field such as `form-data; name="image"`. An empty text
/// if it is there without a value; nothing if it is not there, is there twice,
/// or the field is malformed.
std::optional<std::string> parameter_of(std::string_view field,
                                        std::string_view wanted) {
  std::optional<std::string> found;
  field.remove_prefix(std::min(field.find(';'), field.size()));
  while (!field.empty()) {
    if (field[0] != ';') return {};
    field = trimmed(field.substr(1));
    if (field.empty()) break;
    const size_t end = field.find('=');
    if (end == field.npos) return {};
    const std::string_view name = trimmed(field.substr(0, end));
    field = trimmed(field.substr(end + 1));
    std::optional<std::string> value = take_value(field);
    field = trimmed(field);
    if (!value) return {};
    if (!same_letters(name, wanted)) continue;
    if (found) return {};
    found = std::move(value);
  }
  return found;
}

/// The Content-Disposition among the lines of a part's header; empty if there
/// is none.
std::string_view disposition_of(std::string_view header) {
  constexpr std::string_view kName = "content-disposition:";
  while (!header.empty()) {
    const size_t end = std::min(header.find(kLineEnd), header.size());
    const std::string_view line = header.substr(0, end);
    if (same_letters(line.substr(0, kName.size()), kName)) {
      return trimmed(line.substr(kName.size()));
    }
    header.remove_prefix(std::min(end + kLineEnd.size(), header.size()));
  }
  return {};
}

/// Reads what is between two boundaries: the header, an empty line, the data.
std::string read_part(std::string_view text, FormPart& part) {
  // The header may be empty; then the empty line comes at once.
  std::string_view header;
  if (text.starts_with(kLineEnd)) {
    text.remove_prefix(kLineEnd.size());
  } else {
    const size_t end = text.substr(0, kMaxPartHeader).find("\r\n\r\n");
    if (end == text.npos) {
      return "the header of a part does not end, or is longer than 4 KiB";
    }
    header = text.substr(0, end);
    text.remove_prefix(end + 2 * kLineEnd.size());
  }
  const std::string_view disposition = disposition_of(header);
  const std::string_view kind = disposition.substr(0, disposition.find(';'));
  const std::optional<std::string> name = parameter_of(disposition, "name");
  if (!same_letters(trimmed(kind), "form-data") || !name) {
    return "a part has no Content-Disposition with a name";
  }
  part.name = *name;
  part.is_file = parameter_of(disposition, "filename").has_value() ||
                 parameter_of(disposition, "filename*").has_value();
  part.data = text;
  return "";
}

}  // namespace

bool is_form(std::string_view content_type) {
  return same_letters(trimmed(content_type.substr(0, content_type.find(';'))),
                      kFormType);
}

std::string read_form(std::string_view content_type, std::string_view body,
                      std::vector<FormPart>& parts) {
  const std::optional<std::string> boundary =
      parameter_of(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kMaxBoundary) {
    return "the Content-Type has no boundary of 1 to 70 characters";
  }
  const std::string mark = "\r\n--" + *boundary;
  // What stands before the first boundary is to be ignored.
  std::string_view rest = body;
  if (rest.starts_with(std::string_view(mark).substr(kLineEnd.size()))) {
    rest.remove_prefix(mark.size() - kLineEnd.size());
  } else {
    const size_t first = rest.find(mark);
    if (first == rest.npos) return "the form does not have its boundary";
    rest.remove_prefix(first + mark.size());
  }
  while (!rest.starts_with("--")) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (!rest.starts_with(kLineEnd)) return "a boundary is not a line";
    rest.remove_prefix(kLineEnd.size());
    // An empty part may end where it begins: its line end is the boundary's.
    const size_t end = rest.find(mark);
    if (end == rest.npos) return "the last part does not end";
    if (parts.size() == kMaxFormParts) {
      return "it has more than " + std::to_string(kMaxFormParts) + " parts";
    }
    FormPart part;
    std::string fault = read_part(rest.substr(0, end), part);
    if (!fault.empty()) return fault;
    parts.push_back(std::move(part));
    rest.remove_prefix(end + mark.size());
  }
  return "";
}

}  // namespace kith
