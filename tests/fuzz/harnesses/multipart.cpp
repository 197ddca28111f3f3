#include "kith/serve/multipart.h"

#include <algorithm>
#include <stdexcept>

#include "tests/fuzz/harness.h"

namespace kith {
namespace {

/// The field Content-Type in the first line, then the body.
std::vector<std::string> seeds() {
  return {
      "multipart/form-data; boundary=xyz\n"
      "--xyz\r\nContent-Disposition: form-data; name=\"image\"; "
      "filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nbytes\r\n"
      "--xyz\r\nContent-Disposition: form-data; name=k\r\n\r\n5\r\n--xyz--\r\n",
      "multipart/form-data; boundary=\"a b\"\npreamble\r\n--a b\r\n"
      "content-disposition: form-data; name=\"x\\\"y\"\r\n\r\n\r\n--a b--",
      "image/jpeg\n"};
}

void read(std::string_view bytes) {
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string_view type = bytes.substr(0, end);
  const std::string_view body = bytes.substr(std::min(end + 1, bytes.size()));
  if (!is_form(type)) return;
  std::vector<FormPart> parts;
  read_form(type, body, parts);
  if (parts.size() > kMaxFormParts) throw std::logic_error("too many parts");
  for (const FormPart& part : parts) {
    if (part.data.data() < body.data() ||
        part.data.data() + part.data.size() > body.data() + body.size()) {
      throw std::logic_error("a part that is not of the body");
    }
  }
}

const AddHarness kAdd(
    {.name = "multipart",
     .read = read,
     .seeds = seeds,
     .words = {"multipart/form-data", "; boundary=", "\r\n--", "--\r\n",
               "\r\n\r\n", "name=\"", "filename=", "filename*=UTF-8''",
               "Content-Disposition: form-data", "\\\"", "--xyz", "--xyz--"}});

}  // namespace
}  // namespace kith
