#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cli/common.h"
#include "cli/source_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/serve/access.h"
#include "kith/serve/http_server.h"
#include "kith/serve/routes.h"
#include "kith/train/run_config.h"
#include "kith/use/embed_images.h"
#include "kith/use/index_model.h"

namespace kith {
namespace {

struct ServeFlags {
  std::string model;
  std::string index;
  std::string token_file;
  int64_t max_body_mb = 20;
  /// Pictures of most phones have fewer. As RGB they take 192 MB on each thread
  /// that decodes, 576 MB while a progressive JPEG is, 704 MB with CMYK.
  int64_t max_pixels = 64'000'000;
  int64_t memory_mb = 4096;
  HttpOptions http;
  ServiceOptions service;
  DeviceFlags device;
};

/// Empty if there is none, which is enough where only this machine connects.
std::string token_of(const ServeFlags& flags) {
  const bool is_local = is_loopback(flags.http.host);
  if (!flags.token_file.empty()) return read_token(flags.token_file);
  if (const char* text = std::getenv("KITH_TOKEN")) {
    return check_token(text, "KITH_TOKEN");
  }
  if (is_local) return "";
  throw ConfigError(
      "--host " + flags.http.host +
      " lets other machines connect, so a token is needed: put one in a file "
      "(openssl rand -hex 16 > token) and give it with --token-file token, or "
      "set KITH_TOKEN; or leave --host out to serve this machine only");
}

SearchService make_service(const ServeFlags& flags) {
  const c10::Device device = flags.device.apply();
  StoredIndex index = StoredIndex::open(flags.index, flags.memory_mb, device);
  LoadedModel model = load_index_model(index, flags.index, flags.model, device);
  ServiceOptions options = flags.service;
  options.limits.max_pixels = flags.max_pixels;
  options.descriptor = usual_embedding(model).descriptor;
  return {std::move(model.net), std::move(index), options};
}

void run_serve(const ServeFlags& flags) {
  RouteOptions options;
  options.token = token_of(flags);
  SearchService service = make_service(flags);
  options.model =
      flags.model.empty() ? service.index().info().model : flags.model;
  options.index = flags.index;
  options.max_body_bytes = static_cast<uint64_t>(flags.max_body_mb) << 20;
  options.workers = worker_count(0);
  ServeMetrics metrics;
  Routes routes(service, metrics, options);
  HttpOptions http = flags.http;
  http.max_body_bytes = options.max_body_bytes;
  HttpServer server(http, routes, metrics);
  print_line("Searching " + std::to_string(service.index().size()) +
             " pictures at " + server.url() +
             (options.token.empty() ? "" : " (with a token)"));
  std::fflush(stdout);
  server.run();
  // Before the server: replies are for its connections.
  routes.stop();
  log_info("stopped");
}

/// Refuses what is not a number from `lo` to `hi`; CLI::Range takes nan.
CLI::Validator seconds(double lo, double hi) {
  return CLI::Validator(
      [=](std::string& word) -> std::string {
        double value = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, value);
        const bool good =
            error == std::errc() && stop == end && value >= lo && value <= hi;
        if (good) return "";
        std::ostringstream message;
        message << "must be a number of seconds, from " << lo << " to " << hi
                << ", got '" << word << "'";
        return message.str();
      },
      "");
}

void add_limits(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--max-body-mb", flags.max_body_mb,
                  "The largest picture that may be sent, as a file")
      ->check(integer(1, 1024))
      ->capture_default_str();
  command
      .add_option("--max-pixels", flags.max_pixels,
                  "The largest picture that is decoded; takes up to 11 bytes a "
                  "pixel on each thread")
      ->check(integer(1, 178'956'970))
      ->capture_default_str();
  command
      .add_option(
          "--connections", flags.http.connections,
          "Open at a time: for more, the one that has been idle longest "
          "is closed, or if none is idle they are refused")
      ->check(integer(1, 65'536))
      ->capture_default_str();
  command
      .add_option("--header-seconds", flags.http.header_seconds,
                  "A client that takes longer to ask is answered 408")
      ->check(seconds(0.1, 3600))
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app) {
  auto* command = app.add_subcommand(
      "serve", "Search an index from a web page, or from programs over HTTP");
  auto flags = std::make_shared<ServeFlags>();
  command->add_option("--index", flags->index, "What kith index wrote")
      ->required();
  command->add_option("--model", flags->model,
                      "The model that the index was made with (a run, "
                      "checkpoint or export); default: where the index says");
  command
      ->add_option("--host", flags->http.host,
                   "The address to serve at; 0.0.0.0: all, which needs a token")
      ->capture_default_str();
  command->add_option("--port", flags->http.port, "0: a free one")
      ->check(integer(0, 65'535))
      ->capture_default_str();
  command->add_option("--token-file", flags->token_file,
                      "A file with the token that clients must send; or set "
                      "KITH_TOKEN");
  command
      ->add_option("--batch", flags->service.batch,
                   "Most pictures through the network at once")
      ->check(integer(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--memory-mb", flags->memory_mb,
                   "A larger exact index is read a block at a time")
      ->check(integer(1, kMostMemoryMb))
      ->capture_default_str();
  add_limits(*command, *flags);
  command->add_flag("--verbose", flags->http.log_requests,
                    "A line in the log for every request");
  flags->device.add_to(*command);
  command->callback([flags] { run_serve(*flags); });
}

}  // namespace kith
