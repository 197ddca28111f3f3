#include "kith/serve/access.h"

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(HasToken, WantsTheWholeToken) {
  EXPECT_TRUE(has_token("Bearer secret", "secret"));
  EXPECT_TRUE(has_token("bearer secret", "secret"));
  for (const char* text :
       {"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets",
        "Bearer Secret", "Bearer secretsecret", "Basic secret",
        "Bearer  secret"}) {
    EXPECT_FALSE(has_token(text, "secret")) << text;
  }
  EXPECT_FALSE(has_token("Bearer ", ""));
}

TEST(IsLoopbackHost, WantsANameOfThisMachineAndThePort) {
  for (const char* host :
       {"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LocalHost:8080"}) {
    EXPECT_TRUE(is_loopback_host(host, "127.0.0.1", 8080)) << host;
  }
  for (const char* host : {"", "127.0.0.1", "localhost", "evil.example:8080",
                           "127.0.0.1:80", "127.0.0.1.evil.example:8080",
                           "localhost:18080", ":8080", "127.0.0.2:8080"}) {
    EXPECT_FALSE(is_loopback_host(host, "127.0.0.1", 8080)) << host;
  }
  EXPECT_TRUE(is_loopback_host("localhost", "127.0.0.1", 80));
  EXPECT_TRUE(is_loopback_host("127.0.0.2:8080", "127.0.0.2", 8080));
  EXPECT_FALSE(is_loopback_host("127.0.0.3:8080", "127.0.0.2", 8080));
}

TEST(ReadToken, TakesOneLine) {
  const TempDir folder;
  EXPECT_EQ(read_token(folder.write("token", "0123456789abcdef\n")),
            "0123456789abcdef");
  for (const char* text : {"", "\n", "two words", "two\nlines", "\xc3\xa4"}) {
    const std::string path = folder.write("bad", text);
    expect_error<ConfigError>([&] { read_token(path); }, path, "openssl");
  }
  expect_error<DataError>([&] { read_token(folder.file("none")); }, "none");
}

TEST(ReadToken, RefusesWhatCouldBeGuessed) {
  for (const char* text : {"a", "0123456789abcde", "0123456789abcde  \n"}) {
    expect_error<ConfigError>([&] { check_token(text, "KITH_TOKEN"); },
                              "KITH_TOKEN", "found by trying", "at least 16",
                              "openssl rand -hex 16");
  }
  EXPECT_EQ(check_token("0123456789abcdef", "KITH_TOKEN"), "0123456789abcdef");
}

}  // namespace
}  // namespace kith
