#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/train/experiment.h"
#include "kith/use/make_index.h"
#include "kith/use/serve_index.h"
#include "tests/serve/http_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ServeIndex, AnswersWithAnIndexAndItsModel) {
  const TempDir folder;
  const std::string run = folder.file("run");
  const std::string index = folder.file("index.faiss");
  train_experiment(tiny_config({"train.epochs=1"}), run, at::kCPU,
                   /*resume=*/false, silent_progress());
  make_index({.source = {.source = run}, .out = index}, at::kCPU);

  const std::string token = "0123456789abcdef";
  IndexServer server({.index = index, .token = token, .http = {.port = 0}},
                     at::kCPU);
  EXPECT_EQ(server.items(), 48);
  EXPECT_EQ(server.url(),
            "http://127.0.0.1:" + std::to_string(server.port()) + "/");
  std::thread thread([&server] { server.run(); });
  const auto ask = [&](const std::string& fields) {
    const Client client(server.port());
    client.send("GET /api/info HTTP/1.1\r\nHost: localhost:" +
                std::to_string(server.port()) + "\r\n" + fields +
                "Connection: close\r\n\r\n");
    return client.read();
  };
  EXPECT_THAT(ask(""), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("Authorization: Bearer " + token + "\r\n"),
              HasSubstr("\"items\""));
  server.stop();
  thread.join();
}

TEST(ServeIndex, NeedsATokenWhereOthersCanConnect) {
  expect_error<ConfigError>(
      [] {
        IndexServer({.index = "none", .http = {.host = "0.0.0.0"}}, at::kCPU);
      },
      "option 'host' 0.0.0.0", "option 'token' is needed");
  expect_error<ConfigError>(
      [] { IndexServer({.index = "none", .token = "short"}, at::kCPU); },
      "option 'token'");
}

}  // namespace
}  // namespace kith
