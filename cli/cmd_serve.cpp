#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cli/common.h"
#include "cli/source_flags.h"
#include "cli/threshold_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/serve/access.h"
#include "kith/use/serve_index.h"

namespace kith {
namespace {

struct ServeFlags {
  std::vector<std::string> indexes;
  std::vector<std::string> models;
  std::vector<std::string> thresholds;
  std::vector<std::string> roots;
  std::string token_file;
  int64_t max_body_mb = 20;
  ServeIndexOptions options;
  DeviceFlags device;
};

std::string token_remedy() {
  return "put one in a file (openssl rand -hex 16 > token) and give it with "
         "--token-file token, or set KITH_TOKEN";
}

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
      " lets other machines connect, so a token is needed: " + token_remedy() +
      "; or leave --host out to serve this machine only");
}

struct NamedValue {
  std::string name;  ///< Empty if there is none.
  std::string value;
};

/// NAME=FILE, unless there is a file of that whole name.
NamedValue split_name(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == text.npos || name.empty() || path_exists(text) ||
      name.find('/') != name.npos) {
    return {"", text};
  }
  return {name, text.substr(equals + 1)};
}

/// Values are for all files, NAME=VALUE for one.
void give(const std::vector<std::string>& texts, const std::string& flag,
          std::string ServedFile::*member, std::vector<ServedFile>& files) {
  for (const std::string& text : texts) {
    const NamedValue given = split_name(text);
    bool is_used = false;
    for (ServedFile& file : files) {
      if (!given.name.empty() && given.name != file.name) continue;
      file.*member = given.value;
      is_used = true;
    }
    if (is_used) continue;
    throw ConfigError(flag + " " + text + ": there is no --index " +
                      given.name + "=FILE");
  }
}

std::vector<ServedFile> files_of(const ServeFlags& flags) {
  std::vector<ServedFile> files;
  for (const std::string& text : flags.indexes) {
    const NamedValue index = split_name(text);
    files.push_back({.path = index.value, .name = index.name});
  }
  give(flags.models, "--model", &ServedFile::model, files);
  give(flags.thresholds, "--threshold", &ServedFile::threshold, files);
  give(flags.roots, "--pictures-root", &ServedFile::pictures_root, files);
  return files;
}

/// "Searching 4000 pictures at http://127.0.0.1:8080/"
std::string greeting(const IndexServer& server,
                     const ServeIndexOptions& options) {
  std::string text =
      "Searching " + std::to_string(server.items()) + " pictures" +
      (server.indexes() == 1
           ? ""
           : " in " + std::to_string(server.indexes()) + " indexes") +
      " at " + server.url();
  if (options.token.empty()) return text;
  return text + (options.allow_changes
                     ? " (with a token, which may also change "
                       "them)"
                     : " (with a token)");
}

void run_serve(const ServeFlags& flags) {
  // It has the server load its indexes again; until there is one, nothing.
  std::signal(SIGHUP, SIG_IGN);
  ServeIndexOptions options = flags.options;
  options.indexes = files_of(flags);
  options.token = token_of(flags);
  if (options.allow_changes && options.token.empty()) {
    throw ConfigError("--allow-changes needs a token: " + token_remedy());
  }
  options.http.max_body_bytes = static_cast<uint64_t>(flags.max_body_mb) << 20;
  {
    IndexServer server(options, flags.device.apply());
    print_line(greeting(server, options));
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
      .add_option(
          "--max-body-mb", flags.max_body_mb,
          "The most that a request may send: a picture as a file, or several")
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
      .add_option(
          "--client-connections", flags.options.http.client_connections,
          "Of these for one address, and so of its requests in work; programs "
          "of this machine may have all")
      ->check(integer(1, 65'536))
      ->capture_default_str();
  command
      .add_option("--request-seconds", flags.options.http.request_seconds,
                  "A request that is in work for longer is answered 503, and "
                  "a picture that cannot be read in time is given up")
      ->check(seconds(0.1, 3600))
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
  command
      ->add_option("--index", flags->indexes,
                   "What kith index wrote; NAME=FILE, several times, serves "
                   "several indexes")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--model", flags->models,
                   "The model that the index was made with (a run, checkpoint "
                   "or export), or NAME=MODEL for one of several; default: "
                   "where the index says")
      ->allow_extra_args(false);
  add_checkpoint_flag(*command, flags->options.checkpoint,
                      "the one that the index was made with");
  command
      ->add_option("--threshold", flags->thresholds,
                   std::string(kThresholdHelp) +
                       "NAME=... for one of several; default: the index's own")
      ->allow_extra_args(false);
  command
      ->add_option("--pictures-root", flags->roots,
                   "The folder that pictures must be below to be shown, or "
                   "NAME=... for one of several; default: what the index says")
      ->allow_extra_args(false);
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
  add_rerank_flag(*command, flags->options.rerank, "Order answers anew");
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
  command->add_flag("--allow-changes", flags->options.allow_changes,
                    "Clients with the token may add, replace and remove items");
  command
      ->add_option("--pictures-mb", flags->options.pictures_mb,
                   "The most that pictures which clients add to an index may "
                   "take on disk, in the folder INDEX.pictures")
      ->check(integer(0, 1 << 30))
      ->capture_default_str();
  add_limits(*command, *flags);
  command->add_flag("--verbose", flags->options.http.log_requests,
                    "A line in the log for every request");
  flags->device.add_to(*command);
  command->callback([flags] { run_serve(*flags); });
}

}  // namespace kith
