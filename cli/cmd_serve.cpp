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
#include "kith/use/serve_index.h"

namespace kith {
namespace {

struct ServeFlags {
  std::string token_file;
  int64_t max_body_mb = 20;
  ServeIndexOptions options;
  DeviceFlags device;
};

/// Empty if there is none, which is enough where only this machine connects.
std::string token_of(const ServeFlags& flags) {
  const bool is_local = is_loopback(flags.options.http.host);
  if (!flags.token_file.empty()) return read_token(flags.token_file);
  if (const char* text = std::getenv("KITH_TOKEN")) {
    return check_token(text, "KITH_TOKEN");
  }
  if (is_local) return "";
  throw ConfigError(
      "--host " + flags.options.http.host +
      " lets other machines connect, so a token is needed: put one in a file "
      "(openssl rand -hex 16 > token) and give it with --token-file token, or "
      "set KITH_TOKEN; or leave --host out to serve this machine only");
}

void run_serve(const ServeFlags& flags) {
  ServeIndexOptions options = flags.options;
  options.token = token_of(flags);
  options.http.max_body_bytes = static_cast<uint64_t>(flags.max_body_mb) << 20;
  {
    IndexServer server(options, flags.device.apply());
    print_line("Searching " + std::to_string(server.index().size()) +
               " pictures at " + server.url() +
               (options.token.empty() ? "" : " (with a token)"));
    std::fflush(stdout);
    server.run();
  }
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
      .add_option("--max-pixels", flags.options.service.limits.max_pixels,
                  "The largest picture that is decoded; takes up to 11 bytes a "
                  "pixel on each thread")
      ->check(integer(1, 178'956'970))
      ->capture_default_str();
  command
      .add_option(
          "--connections", flags.options.http.connections,
          "Open at a time: for more, the one that has been idle longest "
          "is closed, or if none is idle they are refused")
      ->check(integer(1, 65'536))
      ->capture_default_str();
  command
      .add_option("--header-seconds", flags.options.http.header_seconds,
                  "A client that takes longer to ask is answered 408")
      ->check(seconds(0.1, 3600))
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app) {
  auto* command = app.add_subcommand(
      "serve", "Search an index from a web page, or from programs over HTTP");
  auto flags = std::make_shared<ServeFlags>();
  command->add_option("--index", flags->options.index, "What kith index wrote")
      ->required();
  command->add_option("--model", flags->options.model,
                      "The model that the index was made with (a run, "
                      "checkpoint or export); default: where the index says");
  command
      ->add_option("--host", flags->options.http.host,
                   "The address to serve at; 0.0.0.0: all, which needs a token")
      ->capture_default_str();
  command->add_option("--port", flags->options.http.port, "0: a free one")
      ->check(integer(0, 65'535))
      ->capture_default_str();
  command->add_option("--token-file", flags->token_file,
                      "A file with the token that clients must send; or set "
                      "KITH_TOKEN");
  command
      ->add_option("--batch", flags->options.service.batch,
                   "Most pictures through the network at once")
      ->check(integer(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--memory-mb", flags->options.memory_mb,
                   "A larger exact index is read a block at a time")
      ->check(integer(1, kMostMemoryMb))
      ->capture_default_str();
  add_limits(*command, *flags);
  command->add_flag("--verbose", flags->options.http.log_requests,
                    "A line in the log for every request");
  flags->device.add_to(*command);
  command->callback([flags] { run_serve(*flags); });
}

}  // namespace kith
