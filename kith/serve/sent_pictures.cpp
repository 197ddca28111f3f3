#include "kith/serve/sent_pictures.h"

#include <utility>

#include "kith/core/quote.h"
#include "kith/image/image_format.h"
#include "kith/serve/multipart.h"

namespace kith {
namespace {

/// Takes a field of a form that is no picture.
std::string take_field(const FormPart& part, Call& call, SentPictures& sent) {
  const Route& route = *call.match.route;
  if (part.is_file || !route.takes(part.name)) {
    return "the form has a field " + quote(part.name) +
           " that is not expected: pictures are called 'image'";
  }
  std::string value(part.data);
  if (route.kind == RouteKind::kAddItems) {
    (part.name == "id" ? sent.ids : sent.labels).push_back(value);
    return part.name == "id" ? check_id(value) : check_label(value);
  }
  if (!call.target.query.emplace(part.name, std::move(value)).second) {
    return quote(part.name) + " is given twice";
  }
  return "";
}

/// Parameters in the address count as fields.
std::string add_parameters(const Call& call, SentPictures& sent) {
  const auto add = [](const std::string& value, const char* name,
                      std::vector<std::string>& values) -> std::string {
    if (value.empty()) return "";
    if (!values.empty()) {
      return std::string(name) + " is given in the address and in the form";
    }
    values.push_back(value);
    return "";
  };
  std::string fault = add(call.id, "id", sent.ids);
  return fault.empty() ? add(call.label, "label", sent.labels) : fault;
}

std::string check_counts(const Route& route, const SentPictures& sent) {
  const size_t count = sent.pictures.size();
  if (count == 0) return "the form has no file 'image'";
  if (route.body == RouteBody::kPicture && count > 1) {
    return "one picture is expected, got " + std::to_string(count);
  }
  if (count > kMostPictures) {
    return "at most " + std::to_string(kMostPictures) +
           " pictures are taken at a time, got " + std::to_string(count);
  }
  if (!sent.ids.empty() && sent.ids.size() != count) {
    return "there must be as many ids as pictures, or none";
  }
  if (sent.labels.size() > 1 && sent.labels.size() != count) {
    return "there must be as many labels as pictures, one for all, or none";
  }
  return "";
}

}  // namespace

std::optional<HttpResponse> read_sent(const HttpRequest& request,
                                      const CallRules& rules, Call& call,
                                      SentPictures& sent) {
  if (!is_form(request.content_type)) {
    sent.pictures = {request.body};
    return bad_request(add_parameters(call, sent));
  }
  std::vector<FormPart> parts;
  const std::string malformed =
      read_form(request.content_type, request.body, parts);
  if (!malformed.empty()) {
    return error_response(400, "the form is malformed: " + malformed,
                          "curl makes one with -F image=@photo.jpg");
  }
  std::string fault;
  for (const FormPart& part : parts) {
    if (part.name == "image") {
      sent.pictures.push_back(part.data);
      continue;
    }
    fault = take_field(part, call, sent);
    if (!fault.empty()) return bad_request(fault);
  }
  if (call.match.route->kind != RouteKind::kAddItems) {
    fault = read_parameters(rules, call);
  }
  if (fault.empty()) fault = add_parameters(call, sent);
  if (fault.empty()) fault = check_counts(*call.match.route, sent);
  return bad_request(fault);
}

std::optional<HttpResponse> decode_sent(
    std::string_view bytes, std::shared_ptr<const HttpRequest> request,
    const DecodeLimits& limits, Deadline deadline, Image& image) {
  if (image_format(bytes).name.empty()) {
    return error_response(415,
                          "this is not a picture of a kind that is read here",
                          "send it as one of these: " + image_formats_text());
  }
  try {
    image = call_until<Image>(
        deadline, [bytes, limits, request = std::move(request)] {
          return decode_image(
              {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
              "the picture", limits);
        });
    return {};
  } catch (const TooLargeError& large) {
    return error_response(413, large.what(),
                          "make the picture smaller and try again");
  } catch (const DataError& data) {
    return error_response(400, data.what(), "try another picture");
  }
}

}  // namespace kith
