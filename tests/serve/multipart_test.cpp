#include "kith/serve/multipart.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kith {
namespace {

using ::testing::HasSubstr;

const std::string kType = "multipart/form-data; boundary=XX";

std::string part(const std::string& fields, const std::string& data) {
  return "--XX\r\n" + fields + "\r\n\r\n" + data + "\r\n";
}

std::string field(const std::string& name, const std::string& data) {
  return part("Content-Disposition: form-data; name=\"" + name + "\"", data);
}

std::string fault_of(const std::string& body, const std::string& type = kType) {
  std::vector<FormPart> parts;
  return read_form(type, body, parts);
}

TEST(Multipart, ReadsWhatCurlSends) {
  const std::string picture("\x89PNG\r\n\x1a\n\0--X\r\n--X", 17);
  const std::string body =
      part(
          "Content-Disposition: form-data; name=\"image\"; "
          "filename=\"a \\\"b\\\"; c.png\"\r\nContent-Type: image/png",
          picture) +
      field("label", "wren") + field("empty", "") + "--XX--\r\n";
  std::vector<FormPart> parts;
  ASSERT_EQ(
      read_form("Multipart/Form-Data; charset=x; boundary=\"XX\"", body, parts),
      "");
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].name, "image");
  EXPECT_TRUE(parts[0].is_file);
  EXPECT_EQ(parts[0].data, picture);
  EXPECT_EQ(parts[1].name, "label");
  EXPECT_FALSE(parts[1].is_file);
  EXPECT_EQ(parts[1].data, "wren");
  EXPECT_EQ(parts[2].data, "");
}

TEST(Multipart, IgnoresWhatIsAroundAForm) {
  std::vector<FormPart> parts;
  EXPECT_EQ(
      read_form(kType, "before\r\n" + field("a", "1") + "--XX--after", parts),
      "");
  EXPECT_EQ(parts.size(), 1U);
  parts.clear();
  EXPECT_EQ(read_form(kType, "--XX--", parts), "");
  EXPECT_TRUE(parts.empty());
}

TEST(Multipart, IsAFormByItsType) {
  EXPECT_TRUE(is_form(kType));
  EXPECT_TRUE(is_form("multipart/form-data"));
  EXPECT_FALSE(is_form("multipart/mixed; boundary=XX"));
  EXPECT_FALSE(is_form("image/png"));
  EXPECT_FALSE(is_form(""));
}

TEST(Multipart, SaysWhatIsMalformed) {
  const std::string end = "--XX--";
  for (const char* type :
       {"multipart/form-data", "multipart/form-data; boundary=",
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=\"XX", "multipart/form-data; XX"}) {
    EXPECT_THAT(fault_of(field("a", "1") + end, type), HasSubstr("boundary"))
        << type;
  }
  EXPECT_THAT(fault_of(field("a", "1") + end,
                       "multipart/form-data; boundary=" + std::string(71, 'x')),
              HasSubstr("70"));
  EXPECT_THAT(fault_of(""), HasSubstr("boundary"));
  EXPECT_THAT(fault_of("no form"), HasSubstr("boundary"));
  EXPECT_THAT(fault_of(field("a", "1")), HasSubstr("does not end"));
  EXPECT_THAT(fault_of("--XX\r\nno header"), HasSubstr("does not end"));
  EXPECT_THAT(fault_of("--XXX\r\n\r\n" + end), HasSubstr("not a line"));
  for (const char* fields : {"X: y", "Content-Disposition: form-data",
                             "Content-Disposition: attachment; name=\"a\"",
                             "Content-Disposition: form-data; name=\"a",
                             "Content-Disposition: form-data; name=a; name=b",
                             "Content-Disposition: form-data; name"}) {
    EXPECT_THAT(fault_of(part(fields, "1") + end), HasSubstr("with a name"))
        << fields;
  }
  EXPECT_THAT(fault_of(part("X: " + std::string(5000, 'y'), "1") + end),
              HasSubstr("4 KiB"));
}

TEST(Multipart, HasABoundedNumberOfParts) {
  std::string body;
  for (size_t i = 0; i < kMaxFormParts; ++i) body += field("a", "1");
  EXPECT_EQ(fault_of(body + "--XX--"), "");
  EXPECT_THAT(fault_of(body + field("a", "1") + "--XX--"),
              HasSubstr("more than 256"));
}

TEST(Multipart, SurvivesWhateverComes) {
  const std::string whole =
      part("Content-Disposition: form-data; name=\"image\"; filename=\"a\"",
           "data") +
      field("label", "wren") + "--XX--\r\n";
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string body = whole;
    std::string type = kType;
    for (int changes = i % 4; changes >= 0; --changes) {
      std::string& text = random() % 8 == 0 ? type : body;
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), 12));
          break;
        default:
          text.resize(at + 1);
      }
      if (text.empty()) text = "-";
    }
    std::vector<FormPart> parts;
    read_form(type, body, parts);
    for (const FormPart& each : parts) {  // all within the body
      ASSERT_GE(each.data.data(), body.data());
      ASSERT_LE(each.data.data() + each.data.size(), body.data() + body.size());
    }
  }
}

}  // namespace
}  // namespace kith
